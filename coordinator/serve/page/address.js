// The address after the #: a path of words and named values. #/problems/KEY?target=gfx90a. What is behind the # never
// reaches a server, so the page works below any path of a proxy.

/** A word as it is where its %XX are not well-formed: somebody typed it. */
function decoded(word) {
    try {
        return decodeURIComponent(word);
    } catch {
        return word;
    }
}

export function parseAddress() {
    const [path, query] = location.hash.replace(/^#/, '').split('?', 2);
    return {
        words: path.split('/').filter(Boolean).map(decoded),
        values: new URLSearchParams(query ?? ''),
    };
}

/** The address of a view: addressOf(['problems', key], {target}). Empty values are left out. */
export function addressOf(words, values) {
    const kept = Object.entries(values ?? {}).filter(([, value]) => value !== null && value !== undefined && value !== '');
    const query = new URLSearchParams(kept.map(([name, value]) => [name, String(value)])).toString();
    return `#/${words.map((word) => encodeURIComponent(word)).join('/')}${query ? `?${query}` : ''}`;
}

/** Puts other values into the address of the view that is shown, without a new entry of the history. */
export function replaceValues(changes) {
    const {words, values} = parseAddress();
    for (const [name, value] of Object.entries(changes)) {
        if (value === null || value === undefined || value === '') values.delete(name);
        else values.set(name, String(value));
    }
    history.replaceState(history.state, '', addressOf(words, Object.fromEntries(values)));
}

/** A table's order, page and filter: NAME=COLUMN.DOWN.PAGE.WORDS. */
export function readState(name) {
    const text = parseAddress().values.get(name);
    const found = /^(\d*)\.([01])\.(\d+)\.(.*)$/s.exec(text ?? '');
    return found ? {column: found[1] === '' ? null : Number(found[1]), down: found[2] === '1', page: Number(found[3]), words: found[4]} : {};
}

export function writeState(name, state, usual) {
    const text = (s) => `${s.column ?? ''}.${s.down ? 1 : 0}.${s.page}.${s.words}`;
    replaceValues({[name]: text(state) === text(usual) ? '' : text(state)});
}
