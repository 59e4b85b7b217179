/*
 * What a browser sees of a page, for tests/page/browser.sh and live.py: whether
 * it is wider than the window, whether text leaves its drawing, meets other text or
 * a line there or is too small to read, whether a word of a table is broken, and how far
 * text stands out from what is behind it (WCAG 2: 4.5, or 3 where it is large).
 * Writes one line a fault to the page that holds this one in a frame.
 */
(() => {
    const faults = [];
    const page = document.documentElement;
    if (page.scrollWidth > window.innerWidth)
        faults.push(`page: ${page.scrollWidth} wide in ${window.innerWidth}`);
    const numbers = colour => {
        const found = colour.match(/[\d.]+/g);
        return found ? found.map(Number) : [0, 0, 0, 0];
    };
    const light = ([r, g, b]) => {
        const part = value => {
            const share = value / 255;
            return share <= 0.03928 ? share / 12.92
                                    : ((share + 0.055) / 1.055) ** 2.4;
        };
        return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
    };
    const behind = element => {
        for (let at = element; at; at = at.parentElement) {
            const colour = numbers(getComputedStyle(at).backgroundColor);
            if (colour.length < 4 || colour[3] > 0)
                return colour;
        }
        return [255, 255, 255];
    };
    const shapeBehind = text => { // a label on a circle or box of its own group
        const group = text.parentElement;
        const shape = group.tagName === 'g' &&
            group.querySelector('circle, rect');
        return shape ? numbers(getComputedStyle(shape).fill) : behind(text);
    };
    const judge = (element, colour, back) => {
        const style = getComputedStyle(element);
        const a = light(colour), b = light(back);
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        const bold = parseInt(style.fontWeight, 10) >= 600;
        const large = parseFloat(style.fontSize) >= (bold ? 18.6 : 24);
        const inDrawing = element.tagName === 'text' && bold;
        if (ratio < (large || inDrawing ? 3 : 4.5))
            faults.push(`contrast ${ratio.toFixed(2)}: ` +
                        element.textContent.trim().slice(0, 40));
    };
    for (const element of document.querySelectorAll('body *')) {
        const own = [...element.childNodes].some(
            child => child.nodeType === 3 && child.textContent.trim());
        if (!own || element.tagName === 'title' || element.tagName === 'SCRIPT')
            continue;
        const style = getComputedStyle(element);
        if (element.tagName === 'text') {
            const box = element.getBoundingClientRect();
            const frame = element.closest('svg').getBoundingClientRect();
            if (box.width > 0 && (box.left < frame.left - 2 ||
                                  box.right > frame.right + 2 ||
                                  box.top < frame.top - 2 ||
                                  box.bottom > frame.bottom + 2))
                faults.push('leaves its drawing: ' + element.textContent);
            judge(element, numbers(style.fill), shapeBehind(element));
        } else if (!element.closest('svg')) {
            judge(element, numbers(style.color), behind(element));
        }
    }
    for (const shape of document.querySelectorAll('svg rect, svg circle')) {
        const box = shape.getBoundingClientRect();
        const frame = shape.closest('svg').getBoundingClientRect();
        if (box.left < frame.left - 2 || box.right > frame.right + 2 ||
            box.top < frame.top - 2 || box.bottom > frame.bottom + 2)
            faults.push(`a ${shape.tagName} leaves its drawing`);
    }
    const meet = (a, b) => Math.min(a.right, b.right) > Math.max(a.left, b.left) + 1 &&
        Math.min(a.bottom, b.bottom) > Math.max(a.top, b.top) + 0.45 * Math.min(a.height, b.height);
    for (const drawing of document.querySelectorAll('svg')) {
        const labels = [...drawing.querySelectorAll('text')].map(text => ({
            words: text.textContent, box: text.getBoundingClientRect(),
        })).filter(label => label.box.width > 0);
        labels.forEach((one, k) => {
            if (Math.min(one.box.height, one.box.width * 2) < 8)
                faults.push(`too small, ${one.box.height.toFixed(1)}: ${one.words}`);
            for (const two of labels.slice(k + 1))
                if (meet(one.box, two.box))
                    faults.push(`labels meet: ${one.words} and ${two.words}`);
        });
    }
    const within = (at, box) => at.x > box.left + 1 && at.x < box.right - 1 &&
        at.y > box.top + 2 && at.y < box.bottom - 3;
    for (const drawing of document.querySelectorAll('svg:not(.map)')) {
        const points = []; // of the lines of charts, and of the marks of budgets
        for (const path of drawing.querySelectorAll(
            'path[fill=none], line[stroke="var(--ink)"]')) {
            const place = path.getScreenCTM();
            for (let at = 0; at < path.getTotalLength(); at += 3)
                points.push(path.getPointAtLength(at).matrixTransform(place));
        }
        for (const text of drawing.querySelectorAll('text')) {
            const box = text.getBoundingClientRect();
            if (points.some(point => within(point, box)))
                faults.push('a line crosses: ' + text.textContent);
        }
    }
    for (const cell of document.querySelectorAll('th, td, dt, dd, b')) {
        const walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
        while (walk.nextNode())
            for (const word of walk.currentNode.data.matchAll(/\S+/g)) {
                const range = document.createRange();
                range.setStart(walk.currentNode, word.index);
                range.setEnd(walk.currentNode, word.index + word[0].length);
                const tops = new Set([...range.getClientRects()].map(
                    box => Math.round(box.top)));
                if (tops.size > 1 && !/.[-\/\u2013]./.test(word[0].replace(/[\d.]+e-\d+/, 'x')))
                    faults.push('a word is broken: ' + word[0]);
            }
    }
    for (const box of document.querySelectorAll('.wide'))
        if (box.scrollWidth > box.clientWidth + 1)
            faults.push('a table is cut: ' +
                        box.textContent.trim().slice(0, 60));
    window.parent.postMessage(
        `looked at ${window.innerWidth}\n` + [...new Set(faults)].join('\n'), '*');
})();
