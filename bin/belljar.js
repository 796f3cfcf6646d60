#!/usr/bin/env node
import { existsSync } from "node:fs";

const main = new URL("../dist/cli/main.js", import.meta.url);
if (existsSync(main)) {
  await import(main.href);
} else {
  process.stderr.write("belljar: this checkout is not built yet. Run: npm install && npm run build\n");
  process.exitCode = 1;
}
