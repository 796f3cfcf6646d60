#!/usr/bin/env node
// An old Node reads this file too, and must be told what it lacks: nothing newer than Node 14 stands here.
import { existsSync, readFileSync } from "node:fs";

const { engines } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
const numbers = (version) => /(\d+)(?:\.(\d+))?/.exec(version).slice(1).map(Number);
const [needed, present] = [numbers(engines.node), numbers(process.versions.node)];
const isOld = present[0] < needed[0] || (present[0] === needed[0] && present[1] < needed[1]);

const main = new URL("../dist/cli/main.js", import.meta.url);
if (isOld) {
  process.stderr.write(
    `belljar: Belljar needs Node ${needed.join(".")} or newer, and this is Node ${process.versions.node} (${process.execPath}). ` +
      "Install a newer one: https://nodejs.org/en/download\n",
  );
  process.exitCode = 1;
} else if (existsSync(main)) {
  await import(main.href);
} else {
  process.stderr.write("belljar: this checkout is not built yet. Run: npm install && npm run build\n");
  process.exitCode = 1;
}
