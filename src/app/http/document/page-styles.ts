/** The colors and forms of the console (`src/web/styles`) for the page of the API document. */
export const pageStyles = `
body { margin: 0; background: #fbfcfb }
.swagger-ui, .swagger-ui .info .title, .swagger-ui .opblock-tag, .swagger-ui .opblock .opblock-summary-description,
.swagger-ui table thead tr th, .swagger-ui .parameter__name, .swagger-ui .responses-inner h4, .swagger-ui label,
.swagger-ui .info p, .swagger-ui .info li, .swagger-ui .btn, .swagger-ui select, .swagger-ui input {
  font-family: Inter, system-ui, 'Segoe UI', Roboto, sans-serif; color: #15201e }
.swagger-ui .topbar, .swagger-ui .info .title small { display: none }
.swagger-ui .wrapper, .swagger-ui .scheme-container .schemes { max-width: 1080px; padding: 0 20px }
.swagger-ui .info { margin: 32px 0 20px }
.swagger-ui .info .title { font-size: 28px; font-weight: 600 }
.swagger-ui .info a, .swagger-ui .opblock-tag small a { color: #0b6b64 }
.swagger-ui .scheme-container { background: none; box-shadow: none; border-bottom: 1px solid #e1e7e5; padding: 0 0 16px }
.swagger-ui .opblock-tag { font-size: 18px; font-weight: 600; border-bottom-color: #e1e7e5 }
.swagger-ui .opblock-tag small, .swagger-ui .opblock .opblock-summary-description { color: #53615e }
.swagger-ui .opblock { background: #fff !important; border: 1px solid #e1e7e5 !important; border-radius: 8px; box-shadow: none; margin: 0 0 8px }
.swagger-ui .opblock .opblock-summary { border: 0 }
.swagger-ui .opblock .opblock-summary-method { min-width: 68px; padding: 4px 0; border-radius: 6px; font-size: 12px;
  background: #4b6672 !important; color: #fff; text-shadow: none }
.swagger-ui .opblock.opblock-post .opblock-summary-method, .swagger-ui .opblock.opblock-put .opblock-summary-method {
  background: #0b6b64 !important }
.swagger-ui .opblock.opblock-delete .opblock-summary-method { background: #b3261e !important }
.swagger-ui .opblock .opblock-summary-path { color: #15201e; font-size: 14px; font-weight: 500 }
.swagger-ui .opblock .opblock-section-header { background: #f3f6f5; box-shadow: none }
.swagger-ui .btn { box-shadow: none; border-color: #c9d2cf; border-radius: 6px }
.swagger-ui .btn.authorize, .swagger-ui .btn.execute { background: #0b6b64; border-color: #0b6b64; color: #fff }
.swagger-ui .btn.authorize span { color: #fff }
.swagger-ui .btn.authorize svg { fill: #fff }
.swagger-ui select, .swagger-ui input[type=text], .swagger-ui textarea { border: 1px solid #c9d2cf; border-radius: 6px; box-shadow: none; font-weight: 400 }
@media (max-width: 600px) {
  .swagger-ui .opblock .opblock-summary { flex-wrap: wrap }
  .swagger-ui .opblock .opblock-summary-description { flex-basis: 100%; padding: 4px 8px 0 }
}
`;
