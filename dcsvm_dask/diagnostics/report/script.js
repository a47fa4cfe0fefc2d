'use strict'
// Bokeh draws text and lines itself, so the scheme of colours is told to each figure.
const DARK = {ink: '#c3c9d1', line: '#5a626c', grid: '#2b3138', blue: '#4a9fd9'}
const LIGHT = {ink: '#444b55', line: '#a4abb4', grid: '#e9ebee', blue: '#0072b2'}
const BLUES = [DARK.blue, LIGHT.blue]
const scheme = window.matchMedia('(prefers-color-scheme: dark)')

function models() {
  return window.Bokeh ? Bokeh.documents.flatMap(document => [...document._all_models.values()]) : []
}

function paint(colours) {
  for (const model of models()) {
    const set = {}
    for (const [name, colour] of [
      ['axis_label_text_color', colours.ink], ['major_label_text_color', colours.ink],
      ['label_text_color', colours.ink], ['title_text_color', colours.ink],
      ['axis_line_color', colours.line], ['major_tick_line_color', colours.line],
      ['grid_line_color', colours.grid],
    ]) {
      // What a figure leaves out stays out.
      if (name in model.properties && model[name] != null) set[name] = colour
    }
    for (const name of ['line_color', 'fill_color']) {
      // The darkest colour of glyphs is lighter where the page is dark.
      const value = name in model.properties ? model[name] : null
      if (BLUES.includes(value)) set[name] = colours.blue
      else if (value && BLUES.includes(value.value)) set[name] = {value: colours.blue}
    }
    if (Object.keys(set).length) model.setv(set)
  }
  for (const mark of document.querySelectorAll('.legend i')) {
    if (BLUES.includes(mark.dataset.colour)) mark.style.background = colours.blue
  }
}

function follow() { paint(scheme.matches ? DARK : LIGHT) }

scheme.addEventListener('change', follow)
window.addEventListener('beforeprint', () => {
  paint(LIGHT)
  // A printer does not wait for the next frame.
  if (window.Bokeh) for (const view of Bokeh.index.roots) view.paint?.()
})
window.addEventListener('afterprint', follow)

async function show() {
  const figures = JSON.parse(document.getElementById('report-figures').textContent)
  await Bokeh.embed.embed_items({[figures.item.docid]: figures.document}, [figures.item])
  follow()
  document.body.dataset.shown = 'yes'
}
if (window.Bokeh) show()

const tables = JSON.parse(document.getElementById('report-tables').textContent)

function csv(columns) {
  const names = Object.keys(columns)
  const quoted = value => {
    const text = value === null ? '' : String(value)
    return /[",\n\r]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text
  }
  const lines = [names.map(quoted).join(',')]
  const length = names.length ? columns[names[0]].length : 0
  for (let row = 0; row < length; row++) {
    lines.push(names.map(name => quoted(columns[name][row])).join(','))
  }
  return lines.join('\n') + '\n'
}

for (const link of document.querySelectorAll('a[data-table]')) {
  link.addEventListener('click', event => {
    event.preventDefault()
    const name = link.dataset.table
    const file = URL.createObjectURL(new Blob([csv(tables[name])], {type: 'text/csv'}))
    const save = document.createElement('a')
    save.href = file
    save.download = name + '.csv'
    save.click()
    URL.revokeObjectURL(file)
  })
}
