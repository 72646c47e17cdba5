// Harper's matches of a text, one reply a line: node harper.mjs < plain.txt > harper.jsonl
// after npm install harper.js (https://writewithharper.com).
import { readFileSync } from 'node:fs';
import { LocalLinter } from 'harper.js';
import { binary } from 'harper.js/binary';

const linter = new LocalLinter({ binary });
await linter.setup();
const started = performance.now();
const lines = readFileSync(0, 'utf8').replace(/\n$/, '').split('\n');
for (const line of lines) {
  const lints = [];
  const byRule = await linter.organizedLints(line, { language: 'plaintext' });
  for (const [rule, found] of Object.entries(byRule)) {
    for (const lint of found) lints.push({ ...JSON.parse(lint.to_json()), rule });
  }
  console.log(JSON.stringify({ lints }));
}
console.error(`${lines.length} lines, ${((performance.now() - started) / 1000).toFixed(1)} s`);
