// Charts by Chart.js. A canvas says nothing to a screen reader: each chart has a name, and a table of the same figures below
// it. Charts do not move.
import {h} from './dom.js';
import {table} from './table.js';

const dark = matchMedia('(prefers-color-scheme: dark)');

/** Colours of series, apart by lightness too; series also differ by dash and point. */
const palettes = {
    light: ['#1f6fb2', '#b3541e', '#2e7d4f', '#7b3fa0', '#8a6d00', '#a3325c', '#33707a', '#5b6472'],
    dark: ['#6db3f2', '#f0a06a', '#7fd09b', '#c99ae8', '#e0c35c', '#f08bb0', '#7cc7d2', '#a9b4c2'],
};
const dashes = [[], [6, 3], [2, 2], [8, 3, 2, 3]];
const points = ['circle', 'triangle', 'rect', 'rectRot', 'cross', 'star'];

export function colour(index) {
    const palette = palettes[dark.matches ? 'dark' : 'light'];
    return palette[index % palette.length];
}
export const dash = (index) => dashes[index % dashes.length];
export const point = (index) => points[index % points.length];

/** A solver's name beside an axis: without "Conv", and cut, where the chart is narrow. */
export function axisName(name, chart) {
    if (chart.width >= 480) return name;
    const short = name.replace(/^Conv/, '');
    return short.length > 16 ? `${short.slice(0, 15)}…` : short;
}

/** The value of a colour variable of the style sheet. */
export function shade(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

const shown = new Set();
dark.addEventListener('change', () => shown.forEach((chart) => chart.redraw()));

/** Lines down the whole chart at points of the x axis, each with words; for changes of the stack. */
export const marks = {
    id: 'marks',
    afterDatasetsDraw(chart, _, options) {
        const {ctx, chartArea, scales} = chart;
        for (const mark of options.list ?? []) {
            const x = scales.x.getPixelForValue(mark.at);
            ctx.save();
            ctx.strokeStyle = shade('warn');
            ctx.fillStyle = shade('warn');
            ctx.setLineDash([4, 3]);
            ctx.beginPath();
            ctx.moveTo(x, chartArea.top);
            ctx.lineTo(x, chartArea.bottom);
            ctx.stroke();
            ctx.font = '11px system-ui, sans-serif';
            ctx.textAlign = x > (chartArea.left + chartArea.right) / 2 ? 'right' : 'left';
            ctx.fillText(mark.words, x + (ctx.textAlign === 'right' ? -4 : 4), chartArea.top + 10);
            ctx.restore();
        }
    },
};

function common(options) {
    const grid = {color: shade('line'), borderColor: shade('muted')};
    const text = (words) => ({display: Boolean(words), text: words, color: shade('muted')});
    const axis = (given) => ({...given, grid: {...grid, ...given?.grid}, ticks: {color: shade('muted'), ...given?.ticks}, title: text(given?.words)});
    return {
        animation: false, responsive: true, maintainAspectRatio: false, ...options,
        scales: Object.fromEntries(Object.entries(options.scales ?? {}).map(([name, given]) => [name, axis(given)])),
        plugins: {...options.plugins, legend: {display: false, ...options.plugins?.legend, labels: {color: shade('text'), boxWidth: 18, ...options.plugins?.legend?.labels}}},
    };
}

/**
 * A chart: name says what it shows; describe(): a sentence with its main figures; height in pixels; make(): a configuration
 * of Chart.js, called at each change; columns and rows(): the table of the same figures.
 */
export function chart({name, describe, height, make, columns, rows, page}) {
    const canvas = h('canvas', {role: 'img', 'aria-label': name});
    const place = h('div', {class: 'chart'}, canvas);
    const figures = table(columns, rows(), {caption: name, page: page ?? 15});
    const whole = h('div', null, place, h('details', null, h('summary', null, 'The same as a table'), figures));
    let drawn = null;

    function size(pixels) {
        place.style.height = `${typeof height === 'function' ? height() : pixels}px`;
    }
    whole.redraw = () => {
        if (!whole.isConnected) return;
        size(height);
        canvas.setAttribute('aria-label', `${name}. ${describe()}`);
        const made = make();
        const whole_ = {...made, options: common(made.options ?? {})};
        if (drawn) {
            drawn.data = whole_.data;
            drawn.options = whole_.options;
            drawn.update('none');
        } else {
            drawn = new Chart(canvas, whole_);
        }
    };
    whole.update = () => {
        figures.update(rows());
        whole.redraw();
    };
    whole.close = () => {
        shown.delete(whole);
        drawn?.destroy();
        drawn = null;
    };
    size(height);
    shown.add(whole);
    requestAnimationFrame(whole.redraw);
    return whole;
}

/** Frees the charts that are no longer in the document. */
export function closeCharts() {
    for (const each of [...shown]) if (!each.isConnected) each.close();
}
