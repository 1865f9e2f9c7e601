// Parse diagrams with Mermaid's own parser: node mermaid_parse.mjs FOLDER
// stdin has the diagrams, separated by NUL. stdout gets a line of JSON with the result for each diagram.
// FOLDER has mermaid and jsdom in node_modules.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import path from 'node:path';

const modules = path.resolve(process.argv[2], 'node_modules');
const { JSDOM } = createRequire(path.join(modules, '_'))('jsdom');
// Mermaid cleans text with DOMPurify, which needs a browser.
const { window } = new JSDOM('<!doctype html>', { url: 'http://localhost' });
for (const name of Object.getOwnPropertyNames(window)) {
  if (!(name in globalThis)) globalThis[name] = window[name];
}
globalThis.window = window;
const core = path.join(modules, 'mermaid', 'dist', 'mermaid.core.mjs');
const { default: mermaid } = await import(pathToFileURL(core));
mermaid.initialize({ securityLevel: 'strict' });

let input = '';
for await (const chunk of process.stdin.setEncoding('utf8')) input += chunk;
for (const text of input.split('\0')) {
  let read;
  try {
    const { db } = await mermaid.mermaidAPI.getDiagramFromText(text);
    read = {
      nodes: [...db.getVertices().values()].map((each) => [each.id, each.text, ...each.classes]),
      edges: db.getEdges().map((each) => [each.start, each.end, each.text]),
      groups: db.getSubGraphs().map((each) => [each.id, each.title, each.nodes.length]),
    };
  } catch (error) {
    read = { error: String(error.message ?? error) };
  }
  console.log(JSON.stringify(read));
}
