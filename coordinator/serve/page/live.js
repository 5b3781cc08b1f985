// Server-sent events: one connection for the whole page. It is read by fetch(), since EventSource can send no token. When it
// breaks, it is made again after 1, 2, 4 ... seconds, and the server is asked for what was missed.
import {address, headers, errorOf, onToken} from './api.js';

const silence = 40000; /* ms; the server sends a comment every 15 s */
const longest = 15; /* seconds between two tries */

const listeners = new Map();
let last = null; /* id of the event that came last */
let tries = 0;
let timer = null;
let connection = null;
let state = {name: 'connecting', since: new Date(), words: '', next: 0};

/** Calls the listener with the data of each such event; returns a function that ends it. */
export function on(name, listener) {
    if (!listeners.has(name)) listeners.set(name, new Set());
    listeners.get(name).add(listener);
    return () => listeners.get(name).delete(listener);
}

function tell(name, data) {
    listeners.get(name)?.forEach((listener) => listener(data));
}

export const connectionState = () => state;

// The moves: connecting -> live, connecting -> lost, live -> lost, lost -> live. `state` tells each, and `regained` the last.
function move(name, words) {
    const before = state.name;
    state = {name, words: words ?? '', since: name === before ? state.since : new Date(), next: tries};
    tell('state', state);
    if (before === 'lost' && name === 'live') tell('regained', {});
}

/** Takes an event's lines: id, event, data. */
function take(block) {
    const fields = {event: 'message', data: []};
    for (const line of block.split('\n')) {
        const [, name, value] = /^([^:]*):? ?(.*)$/.exec(line);
        if (name === 'data') fields.data.push(value);
        else if (name === 'id') last = value;
        else if (name === 'event') fields.event = value;
    }
    if (fields.data.length === 0) return;
    let data;
    try {
        data = JSON.parse(fields.data.join('\n'));
    } catch {
        return;
    }
    tell(fields.event, data);
}

async function listen(mine) {
    const answer = await fetch(address('events'), {cache: 'no-store', credentials: 'omit', signal: mine.signal,
        headers: {...headers(), Accept: 'text/event-stream', ...(last ? {'Last-Event-ID': last} : {})}});
    if (!answer.ok) throw await errorOf(answer);
    tries = 0;
    move('live');
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    for (;;) {
        const watch = setTimeout(() => mine.abort(), silence);
        const {value, done} = await reader.read();
        clearTimeout(watch);
        if (done) throw new Error('the connection was closed');
        text += value.replaceAll('\r\n', '\n');
        for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
            take(text.slice(0, end));
            text = text.slice(end + 2);
        }
    }
}

export async function connect() {
    clearTimeout(timer);
    connection?.abort();
    const mine = new AbortController();
    connection = mine;
    try {
        await listen(mine);
    } catch (error) {
        if (connection !== mine) return;
        tries = Math.min(longest, tries === 0 ? 1 : tries * 2);
        move('lost', error.status ? error.message : '');
        tell(error.status === 401 ? 'unauthorized' : 'silent', error);
        timer = setTimeout(connect, tries * 1000);
    }
}

onToken(() => { if (state.name === 'lost') connect(); });
// A sleeping computer's timers are late: look at once.
addEventListener('online', connect);
