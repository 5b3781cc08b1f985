// Numbers, durations and times as people read them. What is not known is a dash.

const none = '–';
const known = (value) => value !== null && value !== undefined && !(typeof value === 'number' && Number.isNaN(value));

export function count(value) {
    return known(value) ? Number(value).toLocaleString('en-US', {maximumFractionDigits: 0}) : none;
}

/** Three significant digits, without exponents: 0.0123, 1.23, 123, 12,345. */
export function number(value) {
    if (!known(value)) return none;
    return Number(value).toLocaleString('en-US', {maximumSignificantDigits: Math.abs(value) >= 1000 ? 21 : 3, maximumFractionDigits: Math.abs(value) >= 1000 ? 0 : 9});
}

export function milliseconds(value) {
    if (!known(value)) return none;
    return value >= 1000 ? `${number(value / 1000)} s` : value >= 0.1 ? `${number(value)} ms` : `${number(value * 1000)} µs`;
}

export function percent(fraction) {
    return known(fraction) ? `${(fraction * 100).toLocaleString('en-US', {maximumFractionDigits: Math.abs(fraction) < 0.1 ? 2 : 1})} %` : none;
}

/** 42 s, 5 min 10 s, 3 h 20 min, 2 d 4 h. */
export function duration(seconds) {
    if (!known(seconds) || !Number.isFinite(seconds)) return none;
    const whole = Math.round(Math.abs(seconds));
    if (whole < 60) return `${whole < 10 && seconds % 1 ? number(seconds) : whole} s`;
    const parts = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];
    const first = parts.findIndex(([unit]) => whole >= unit);
    const [unit, name] = parts[first];
    const [lower, lowerName] = parts[first + 1];
    const rest = Math.floor((whole % unit) / lower);
    return `${Math.floor(whole / unit)} ${name}${rest ? ` ${rest} ${lowerName}` : ''}`;
}

export function bytes(value) {
    if (!known(value)) return none;
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let unit = 0;
    for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024;
    return `${number(value)} ${units[unit]}`;
}

/** A point of time, by the reader's clock: Nov 23, 14:03:10. */
export function when(text) {
    if (!known(text) || text === '') return none;
    const date = new Date(text);
    if (Number.isNaN(date.getTime())) return String(text);
    return date.toLocaleString('en-GB', {day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', second: '2-digit',
        ...(date.getFullYear() === new Date().getFullYear() ? {} : {year: 'numeric'})});
}

export function clock(date) {
    return date.toLocaleTimeString('en-GB');
}

export function ago(seconds) {
    return known(seconds) ? `${duration(seconds)} ago` : none;
}
