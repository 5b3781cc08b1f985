// The frame: which view is shown, the state of the connection, and the token.
import {h, fill, announce, empty} from './dom.js';
import {askToken, forgetToken, heldToken, onToken} from './api.js';
import {connect, connectionState, on} from './live.js';
import {parseAddress} from './address.js';
import {closeCharts} from './charts.js';
import {clock} from './format.js';
import {overview} from './view_overview.js';
import {nodes} from './view_nodes.js';
import {campaigns, campaign} from './view_campaigns.js';
import {jobs, job, rejections} from './view_jobs.js';
import {comparison, golden, goldenDiff} from './view_golden.js';
import {problems, problem} from './view_problems.js';
import {networks, network} from './view_networks.js';
import {usage} from './view_usage.js';
import {nights, night} from './view_nights.js';
import {downloads, quarantine, log} from './view_lists.js';

/**
 * The views. path: its words; one that begins with ":" takes any word, under that name. nav: its name in the bar.
 * show({words, values, signal}) returns {title, body, refresh(), events: {name: listener}}: refresh reads everything again, after
 * the connection was lost.
 */
const views = [
    {path: [], nav: 'Overview', show: overview},
    {path: ['campaigns'], nav: 'Campaigns', show: campaigns},
    {path: ['campaigns', ':id'], show: campaign},
    {path: ['campaigns', ':id', 'jobs'], show: jobs},
    {path: ['campaigns', ':id', 'jobs', ':job'], show: job},
    {path: ['campaigns', ':id', 'rejections'], show: rejections},
    {path: ['campaigns', ':id', 'golden'], show: comparison},
    {path: ['nodes'], nav: 'Nodes', show: nodes},
    {path: ['nights'], nav: 'Nights', show: nights},
    {path: ['nights', ':id'], show: night},
    {path: ['problems'], nav: 'Problems', show: problems},
    {path: ['problems', ':key'], show: problem},
    {path: ['networks'], nav: 'Networks', show: networks},
    {path: ['networks', ':name'], show: network},
    {path: ['usage'], nav: 'Usage', show: usage},
    {path: ['golden'], nav: 'Golden', show: golden},
    {path: ['golden', ':target', ':from', ':to'], show: goldenDiff},
    {path: ['exports'], nav: 'Exports', show: downloads},
    {path: ['quarantine'], nav: 'Quarantine', show: quarantine},
    {path: ['log'], nav: 'Log', show: log},
];

const main = document.getElementById('main');
let shown = null; /* {view, path, signal's controller, ends: functions} */
const scrolled = new Map(); /* address -> how far it was scrolled when it was left */
let byLink = false;

function match(words) {
    for (const view of views) {
        if (view.path.length !== words.length) continue;
        if (view.path.every((part, index) => part.startsWith(':') || part === words[index])) {
            return {view, named: Object.fromEntries(view.path.map((part, index) => [part.slice(1), words[index]]))};
        }
    }
    return null;
}

function errorBody(title, words, again) {
    return [h('div', {class: 'head'}, h('h1', {tabindex: '-1'}, title)),
        h('div', {class: 'note bad', role: 'alert'}, words, ' ', again ? h('button', {type: 'button', onclick: again}, 'Try again') : null)];
}

function markNav(words) {
    document.querySelectorAll('#views a').forEach((each) => {
        if (each.dataset.word === (words[0] ?? '')) each.setAttribute('aria-current', 'page');
        else each.removeAttribute('aria-current');
    });
}

async function show(focus) {
    const {words, values} = parseAddress();
    const here = location.hash;
    shown?.leave();
    const controller = new AbortController();
    const mine = shown = {address: here, ends: [], leave() {
        controller.abort();
        mine.ends.forEach((end) => end());
    }};
    markNav(words);
    main.setAttribute('aria-busy', 'true');
    const found = match(words);
    try {
        if (!found) {
            document.title = 'Not found – Skipjack';
            fill(main, errorBody('There is no such view', ['The address names no view of this page. ', h('a', {href: '#/'}, 'To the overview')]));
        } else {
            const view = await found.view.show({...found.named, values, signal: controller.signal});
            if (shown !== mine) return;
            document.title = `${view.title} – Skipjack`;
            fill(main, view.body);
            for (const [name, listener] of Object.entries(view.events ?? {})) mine.ends.push(on(name, listener));
            mine.refresh = view.refresh;
        }
    } catch (error) {
        if (shown !== mine || error.name === 'AbortError') return;
        if (!(error.status >= 0)) console.error(error);
        const title = error.status === 404 ? 'Not found' : error.status === 401 ? 'A token is needed' : 'This view cannot be shown';
        document.title = `${title} – Skipjack`;
        fill(main, errorBody(title, error.message, () => show(true)));
        mine.failed = true;
        if (error.status === 401 && await askToken(error.message)) await show(true);
    } finally {
        if (shown === mine) {
            main.removeAttribute('aria-busy');
            main.dataset.shows = here;
            closeCharts();
            if (focus) arrive(here);
        }
    }
}

/** After going to a view the reader begins at its heading; going back, where he was. */
function arrive(here) {
    main.querySelector('h1')?.focus({preventScroll: true});
    scrollTo(0, byLink ? 0 : scrolled.get(here) ?? 0);
    byLink = false;
}

addEventListener('click', (event) => {
    const clicked = event.target.closest?.('a[href^="#/"]');
    if (clicked) byLink = true;
    scrolled.set(location.hash, scrollY);
    // The skip link moves the focus only: its # is no view.
    if (event.target.closest?.('.skip')) {
        event.preventDefault();
        main.focus();
    }
});
addEventListener('hashchange', () => show(true));

// ---- The connection.

const banner = document.getElementById('banner');
const bannerText = document.getElementById('banner-text');
let database = {up: true};

function draw() {
    const {name, since, words, next} = connectionState();
    const dot = document.getElementById('live-dot');
    const text = document.getElementById('live-text');
    dot.className = `dot ${name === 'live' ? (database.up ? 'good' : 'warn') : name === 'lost' ? 'bad' : ''}`;
    text.textContent = name === 'live' ? (database.up ? 'live' : 'no database') : name === 'lost' ? 'server lost' : 'connecting';
    const said = name === 'lost'
        ? `${words || 'The server does not answer'}. What is shown is from ${clock(since)}; trying again every ${next} s.`
        : !database.up ? `The server cannot reach the database: ${database.error ?? 'it does not answer'}. What is shown is what it knew last.` : '';
    if (bannerText.textContent !== said) bannerText.textContent = said;
    banner.hidden = said === '';
    document.getElementById('banner-try').hidden = name !== 'lost';
    return said;
}

let told = '';
function drawAndTell() {
    const said = draw();
    const {name} = connectionState();
    const sentence = name === 'lost' ? 'The server is lost' : !database.up ? said : told ? 'Connected again' : '';
    if (sentence !== told) {
        if (sentence) announce(sentence);
        told = name === 'live' && database.up ? '' : sentence;
    }
}

async function refresh() {
    if (!shown) return;
    if (shown.failed || !shown.refresh) {
        // A view that is not live is left alone unless it could not be shown.
        if (shown.failed) await show(false);
        return;
    }
    try {
        await shown.refresh();
    } catch { /* The banner says that the server is lost. */ }
}

on('state', drawAndTell);
on('regained', refresh);
on('reset', refresh);
on('database', (data) => {
    database = data;
    drawAndTell();
    if (data.up) refresh();
});
on('farm', (farm) => {
    if (farm.database.up !== database.up) {
        database = farm.database;
        drawAndTell();
    }
});
let asked = false;
on('unauthorized', async (error) => {
    if (asked || heldToken()) return;
    asked = true;
    await askToken(error.message);
});
document.getElementById('banner-try').addEventListener('click', connect);

// ---- The token.

const tokenButton = document.getElementById('token');
function drawToken() {
    tokenButton.textContent = heldToken() ? 'Forget token' : 'Enter token';
}
tokenButton.addEventListener('click', () => {
    if (heldToken()) {
        forgetToken();
        announce('The token is forgotten');
    } else {
        askToken('');
    }
});
onToken(drawToken);
drawToken();

// ---- Beginning.

fill(document.getElementById('views'), views.filter((view) => view.nav)
    .map((view) => h('li', null, h('a', {href: `#/${view.path.join('/')}`, 'data-word': view.path[0] ?? ''}, view.nav))));
fill(main, empty('Loading …'));
show(false);
connect();
