// Questions to the server: JSON over the paths of openapi.json, relative to this page.
import {h, fill, announce} from './dom.js';

const base = new URL('api/v1/', document.baseURI);
const tokenName = 'skipjack-token';

export const heldToken = () => sessionStorage.getItem(tokenName);
const tokenListeners = new Set();
/** Calls the listener whenever a token was accepted or forgotten. */
export const onToken = (listener) => tokenListeners.add(listener);

/** What the server says is wrong: `status` is 0 where no answer came. */
export class ApiError extends Error {
    constructor(status, title, detail) {
        super(detail ? `${title}: ${detail}` : title);
        this.status = status;
    }
}

export function address(path, values) {
    const url = new URL(path, base);
    for (const [name, value] of Object.entries(values ?? {})) {
        if (value !== null && value !== undefined && value !== '') url.searchParams.set(name, value);
    }
    return url;
}

/** The path of words, each of them whatever it holds: pathOf('problems', key). */
export const pathOf = (...words) => words.map((word) => encodeURIComponent(word)).join('/');

export function headers(token = heldToken()) {
    return token ? {Authorization: `Bearer ${token}`} : {};
}

/** The error of an answer that is none. */
export async function errorOf(answer) {
    let said = {};
    try {
        said = await answer.json();
    } catch { /* no JSON: a proxy's page, say */ }
    return new ApiError(answer.status, said.title ?? `The server answers with status ${answer.status}`, said.detail);
}

async function ask(url, options) {
    let answer;
    try {
        answer = await fetch(url, {cache: 'no-cache', credentials: 'omit', ...options});
    } catch (error) {
        if (error.name === 'AbortError') throw error;
        throw new ApiError(0, 'The server does not answer', 'it may be restarting, or the network is down');
    }
    if (!answer.ok) throw await errorOf(answer);
    return answer;
}

export async function read(path, values, signal) {
    return (await ask(address(path, values), {headers: headers(), signal})).json();
}

const mostPages = 20; /* a search's pages may be nearly empty */

/** All items of a paged list, up to `most`; `more` says that the server has others. */
export async function readAll(path, values, signal, most = 5000) {
    const items = [];
    let after = null;
    let pages = 0;
    do {
        const page = await read(path, {...values, limit: Math.min(1000, most), after}, signal);
        items.push(...page.items);
        after = page.next;
    } while (after && items.length < most && ++pages < mostPages);
    return {items, more: Boolean(after)};
}

/** The same of a list that is asked by offset. `first` is the whole first answer. */
export async function readOffsets(path, values, signal, most = 5000) {
    const first = await read(path, {...values, limit: 1000, offset: 0}, signal);
    const items = [...first.items];
    while (items.length < Math.min(first.total, most)) {
        const page = await read(path, {...values, limit: 1000, offset: items.length}, signal);
        if (page.items.length === 0) break;
        items.push(...page.items);
    }
    return {first, items, more: first.total > items.length};
}

async function send(method, path, body, token) {
    const content = body ? {headers: {...headers(token), 'Content-Type': 'application/json'}, body: JSON.stringify(body)} : {headers: headers(token)};
    const answer = await ask(address(path), {method, ...content});
    return answer.json();
}

/**
 * Changes something, with a token that is asked for where none is held. Returns the server's words of what was done, or null
 * when the reader closed the question for a token. A token that the server refuses is forgotten, and asked for again.
 */
export async function change(method, path, body) {
    for (let why = ''; ;) {
        if (!heldToken() && !await askToken(why)) return null;
        try {
            const {done} = await send(method, path, body);
            announce(done);
            return done;
        } catch (error) {
            if (error.status !== 401 && error.status !== 403) throw error;
            why = error.message;
            forgetToken();
        }
    }
}

export function forgetToken() {
    sessionStorage.removeItem(tokenName);
    tokenListeners.forEach((listener) => listener());
}

let asking = null; /* the question for a token that is open */

/** Asks for a token until the server knows it. True when one is held then. Who asks meanwhile waits for the same answer. */
export function askToken(why) {
    asking ??= openTokenDialog(why).finally(() => { asking = null; });
    return asking;
}

function openTokenDialog(why) {
    return new Promise((resolve) => {
        const wrong = h('p', {class: 'note bad', role: 'alert', id: 'token-wrong', hidden: !why}, why ?? '');
        const field = h('input', {id: 'token-field', type: 'password', autocomplete: 'off', spellcheck: 'false', required: true,
            'aria-describedby': 'token-wrong token-help'});
        const submit = h('button', {type: 'submit', class: 'first'}, 'Use this token');
        const form = h('form', {onsubmit: check},
            h('h2', {id: 'token-title'}, 'Token'),
            h('p', {id: 'token-help'}, 'Changes need a token of the role coordinator. ', h('code', null, 'skipjack db token create NAME --role coordinator'),
                ' makes one. It is kept until this tab is closed.'),
            wrong, h('div', {class: 'field'}, h('label', {for: 'token-field'}, 'Token'), field),
            h('div', {class: 'actions'}, h('button', {type: 'button', onclick: () => dialog.close()}, 'Close'), submit));
        const dialog = h('dialog', {'aria-labelledby': 'token-title'}, form);
        let held = false;

        async function check(event) {
            event.preventDefault();
            submit.disabled = true;
            try {
                const token = field.value.trim();
                await (await ask(address('session'), {headers: headers(token)})).json();
                sessionStorage.setItem(tokenName, token);
                held = true;
                tokenListeners.forEach((listener) => listener());
                dialog.close();
            } catch (error) {
                wrong.hidden = false;
                wrong.textContent = error.status === 401 || error.status === 403
                    ? `The server refuses this token. ${error.message}` : error.message;
                field.select();
                field.focus();
            } finally {
                submit.disabled = false;
            }
        }
        dialog.addEventListener('close', () => {
            dialog.remove();
            resolve(held);
        });
        document.body.append(dialog);
        dialog.showModal();
        field.focus();
    });
}

/** Asks before something that cannot be undone. */
export function confirmed(title, words, action) {
    return new Promise((resolve) => {
        let yes = false;
        const dialog = h('dialog', {'aria-labelledby': 'confirm-title'}, h('form', {onsubmit: (event) => {
            event.preventDefault();
            yes = true;
            dialog.close();
        }}, h('h2', {id: 'confirm-title'}, title), h('p', null, words), h('div', {class: 'actions'},
            h('button', {type: 'button', autofocus: true, onclick: () => dialog.close()}, 'Leave it'),
            h('button', {type: 'submit', class: 'danger'}, action))));
        dialog.addEventListener('close', () => {
            dialog.remove();
            resolve(yes);
        });
        document.body.append(dialog);
        dialog.showModal();
    });
}

/**
 * A button that changes something. `ask`: [title, words, action] to confirm first. What came of it is written into `place`.
 */
export function changeButton(words, {method, path, body, ask: question, place, done, kind}) {
    const button = h('button', {type: 'button', class: kind, onclick: async () => {
        if (question && !await confirmed(...question)) return;
        button.disabled = true;
        try {
            const said = await change(method ?? 'POST', path, body);
            if (said !== null) {
                fill(place, h('p', {class: 'note good', role: 'status'}, said));
                await done?.();
            }
        } catch (error) {
            fill(place, h('p', {class: 'note bad', role: 'alert'}, error.message));
        } finally {
            button.disabled = false;
            if (button.isConnected) button.focus();
        }
    }}, words);
    return button;
}
