import { register } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

/** Runs inside a sandbox: `node typescript.mjs ENTRY ARGS...` runs ENTRY as `node ENTRY ARGS...` would run JavaScript. */
const entry = resolve(process.argv[2] ?? "");
process.argv.splice(1, 2, entry);

// Both files are bundled into the same folder. Only the thread of the hooks loads the transpiler.
const { href } = pathToFileURL(entry);
register("./typescript-hooks.mjs", { parentURL: import.meta.url, data: { entry: href } });
await import(href);
