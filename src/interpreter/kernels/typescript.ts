import { register } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

/** Runs inside a sandbox: `node typescript.mjs ENTRY ARGS...` runs ENTRY as `node ENTRY ARGS...` would run JavaScript. */
const entry = resolve(process.argv[2] ?? "");
process.argv.splice(1, 2, entry);

// The hooks live beside this file once both are bundled; the transpiler is loaded in their thread alone.
const { href } = pathToFileURL(entry);
register("./typescript-hooks.mjs", { parentURL: import.meta.url, data: { entry: href } });
await import(href);
