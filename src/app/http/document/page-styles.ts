/**
 * The colors and forms of the console (`src/web/styles`) for the page of the API document. Its program sets
 * `dark-mode` where the browser asks for it; its own dark colors have selectors that begin so, as ours do.
 */
export const pageStyles = `
@font-face { font-family: Inter; font-weight: 100 900; font-display: swap; src: url('/docs/inter.woff2') format('woff2') }
html { --bg: #fbfcfb; --surface: #fff; --sunken: #f3f6f5; --text: #15201e; --muted: #53615e; --line: #e1e7e5;
  --line-strong: #c9d2cf; --accent: #0b6b64; --on-accent: #fff; --get: #4b6672; --failed: #b3261e; --on-method: #fff; color-scheme: light }
html.dark-mode { --bg: #0f1413; --surface: #151b1a; --sunken: #0b100f; --text: #e5ebe9; --muted: #a2aeab; --line: #252e2c;
  --line-strong: #3a4643; --accent: #5ccabd; --on-accent: #06201d; --get: #9db4bf; --failed: #ff8f85; --on-method: #06201d; color-scheme: dark }
html, html body, html:not(#_) .swagger-ui { background: var(--bg) }
body { margin: 0 }
html:not(#_) .swagger-ui :is(a, p, li, td, th, h1, h2, h3, h4, h5, label, section, div, span:not([style]), table thead tr th, .btn, select, input, textarea,
  .title, .opblock-tag, .parameter__name, .parameter__type, .prop-type, .model, .model-title, .tab, .renderedMarkdown, .opblock-description) {
  font-family: Inter, system-ui, 'Segoe UI', Roboto, sans-serif; color: var(--text) }
html:not(#_) .swagger-ui :is(code, pre, .microlight) { font-family: ui-monospace, 'Liberation Mono', Menlo, Consolas, monospace }
html:not(#_) .swagger-ui .topbar, html:not(#_) .swagger-ui .info .title small { display: none }
html:not(#_) .swagger-ui .wrapper, html:not(#_) .swagger-ui .scheme-container .schemes { max-width: 1080px; padding: 0 20px }
html:not(#_) .swagger-ui .info { margin: 32px 0 20px }
html:not(#_) .swagger-ui .info .title { font-size: 28px; font-weight: 600 }
html:not(#_) .swagger-ui :is(.info a, .opblock-tag small a, .renderedMarkdown a, .link) { color: var(--accent) }
html:not(#_) .swagger-ui .scheme-container { background: none; box-shadow: none; border-bottom: 1px solid var(--line); padding: 0 0 16px }
html:not(#_) .swagger-ui .opblock-tag { font-size: 18px; font-weight: 600; border-bottom-color: var(--line) }
html:not(#_) .swagger-ui :is(.opblock-tag small, .opblock-tag small p, .opblock-summary-description, .parameter__in, .parameter__type,
  .prop-format, .response-col_links) { color: var(--muted) }
html:not(#_) .swagger-ui .opblock { background: var(--surface); border: 1px solid var(--line); border-radius: 8px; box-shadow: none; margin: 0 0 8px }
html:not(#_) .swagger-ui .opblock .opblock-summary { border: 0; border-color: var(--line) }
html:not(#_) .swagger-ui .opblock .opblock-summary-method { min-width: 68px; padding: 4px 0; border-radius: 6px; font-size: 12px;
  background: var(--get); color: var(--on-method); text-shadow: none }
html:not(#_) .swagger-ui :is(.opblock-post, .opblock-put, .opblock-patch) .opblock-summary-method { background: var(--accent) }
html:not(#_) .swagger-ui .opblock-delete .opblock-summary-method { background: var(--failed) }
html:not(#_) .swagger-ui .opblock .opblock-summary-path, html:not(#_) .swagger-ui .opblock .opblock-summary-path span {
  color: var(--text); font-size: 14px; font-weight: 500 }
html:not(#_) .swagger-ui .opblock .tab-header .tab-item.active h4 span::after { background: var(--accent) }
html:not(#_) .swagger-ui :is(.opblock-section-header, section.models, .model-box, .model-container) { background: var(--sunken); box-shadow: none; border-color: var(--line) }
html:not(#_) .swagger-ui :is(.parameter__name.required::after, .parameter__name.required span) { color: var(--failed) }
html:not(#_) .swagger-ui :is(table thead tr td, table thead tr th, .model-container, section.models) { border-color: var(--line) }
html:not(#_) .swagger-ui .btn { background: var(--surface); box-shadow: none; border-color: var(--line-strong); border-radius: 6px }
html:not(#_) .swagger-ui .btn:is(.authorize, .execute, .modal-btn) { background: var(--accent); border-color: var(--accent); color: var(--on-accent) }
html:not(#_) .swagger-ui .btn.authorize span { color: var(--on-accent) }
html:not(#_) .swagger-ui .btn.authorize svg { color: var(--on-accent); fill: currentColor }
html:not(#_) .swagger-ui :is(.renderedMarkdown, .markdown) code { background: var(--sunken); color: var(--text) }
html:not(#_) .swagger-ui :is(.arrow, .opblock-control-arrow svg, .expand-operation svg, .authorization__btn svg, .close-modal svg) { fill: var(--muted) }
html:not(#_) .swagger-ui :is(select, input, textarea) { background-color: var(--surface); border: 1px solid var(--line-strong); border-radius: 6px; box-shadow: none; font-weight: 400 }
html:not(#_) .swagger-ui .dialog-ux .modal-ux { background: var(--surface); border: 1px solid var(--line); border-radius: 10px; box-shadow: none }
html:not(#_) .swagger-ui .dialog-ux :is(.modal-ux-header, .auth-container) { border-color: var(--line) }
html:not(#_) .swagger-ui :is(.highlight-code pre.microlight, pre.microlight, .curl) { background: var(--sunken); color: var(--text); border: 1px solid var(--line) }
html:not(.dark-mode) .swagger-ui pre.microlight span { color: inherit !important }
@media (max-width: 600px) {
  html:not(#_) .swagger-ui .opblock-summary-path-description-wrapper { flex-direction: column; align-items: start; min-width: 0; padding: 0 8px }
  html:not(#_) .swagger-ui .opblock-summary-path-description-wrapper > * { flex: none; max-width: 100%; padding: 0; overflow-wrap: anywhere }
}
`;
