/** Writes docs/reference/ from the code; with --check says whether it is up to date. Needs the library: npm run build. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { httpApiPage } from "./docs/http-api-page.mjs";
import { page, schemaRows, table } from "./docs/markdown.mjs";
import { Problem, ROOT, main, say } from "./lib.mjs";

const isCheck = process.argv.includes("--check");
const load = (path) => import(pathToFileURL(join(ROOT, "dist/lib", path)).href);
async function configPage() {
  const { describeConfig } = await load("config/config-keys.js");
  const rows = describeConfig().map((key) => [
    `\`${key.path.join(".")}\``,
    key.env.map((name) => `\`${name}\``).join(", "),
    key.type,
    key.default === undefined ? "" : `\`${typeof key.default === "string" ? key.default : JSON.stringify(key.default)}\``,
    key.description,
  ]);
  return page(
    "Configuration",
    "Order: defaults < `config.json` in the home (or `--config FILE`) < environment < flags. A wrong setting stops the start and is named.",
    "A size is written as `512m` or `2g`, a time as `30s`, `5m` or `1h`, in the file (as text), the environment and the flags alike. A plain number is one of bytes, or of milliseconds.",
    "A limit is taken away with `null` in the file or `none` in the environment.",
    table(["key", "environment", "type", "default", "what"], rows),
  );
}

async function cliPage() {
  const [{ COMMANDS }, { mainHelp, commandHelp }] = await Promise.all([load("cli/command-table.js"), load("cli/help.js")]);
  const block = (text) => `\`\`\`text\n${text}\`\`\``;
  return page(
    "Command line",
    "Exit codes: 0 done, 1 failed, 2 wrong usage. `run`, `exec` and `shell` give the command's own code, and 125 when Belljar failed.",
    block(mainHelp()),
    ...COMMANDS.map((spec) => `## belljar ${spec.name}\n\n${block(commandHelp(spec))}`),
  );
}

async function errorsPage() {
  const { ERRORS } = await load("errors.js");
  const rows = Object.entries(ERRORS).map(([code, { status, retryable }]) => [`\`${code}\``, status, retryable ? "yes" : "no"]);
  return page(
    "Errors",
    '`code` is the contract; the message is for people. Over HTTP: `{ "error": { code, message, retryable, requestId } }` with the status below.',
    table(["code", "HTTP status", "the same call may succeed later"], rows),
  );
}

async function browserFlagsPage() {
  const { FLAGS, OWN_FLAGS, DISABLED_FEATURES, ENABLED_FEATURES } = await load("browser/flags.js");
  const rows = (flags) => flags.map(({ flag, reason }) => [`\`${flag}\``, reason]);
  return page(
    "Chromium's flags",
    "Chromium is started in a sandbox with these flags and no other.",
    table(["flag", "why"], [...rows(FLAGS), ...rows(OWN_FLAGS)]),
    "`--disable-features` names these features:",
    table(["feature", "why it is off"], rows(DISABLED_FEATURES)),
    "`--enable-features` names these:",
    table(["feature", "why it is on"], rows(ENABLED_FEATURES)),
    "What no flag says stands in the profile: DNS over HTTPS is off, and so are encrypted hellos (the way out reads the name of a TLS connection), safe browsing, the search for captive portals, prefetching, passwords, autofill, suggestions and accounts.",
  );
}

function answerOf({ output, value }) {
  const schema = output ?? value;
  const names = Object.keys(schema?.properties ?? {}).map((key) => `\`${key}\``);
  if (!schema) return [];
  return [`${output ? "Data" : "Text, and for code"}: ${names.join(", ")}`];
}

function toolsPage() {
  const tools = JSON.parse(readFileSync(join(ROOT, "dist/tools.json"), "utf8"));
  const parts = tools.map((tool) =>
    [`## ${tool.name}`, tool.description, table(["argument", "type", "required", "what"], schemaRows(tool.input)), ...answerOf(tool)].join(
      "\n\n",
    ),
  );
  const intro =
    "The built-in MCP tools. Relative paths start at the workspace, or without one at `/home/user`. A tool answers a text, or data: then the structure and the text are the same JSON. Code that calls tools, and `POST /tools/call`, get a `value` in both cases.";
  return page("Tools", intro, ...parts);
}

async function manPages() {
  const [{ manPage }, { readPackage }] = await Promise.all([load("cli/man-page.js"), load("cli/compose/package-root.js")]);
  return manPage(readPackage().version);
}

const PAGES = {
  "belljar.1": manPages,
  "config.md": configPage,
  "browser-flags.md": browserFlagsPage,
  "cli.md": cliPage,
  "errors.md": errorsPage,
  "tools.md": toolsPage,
  "http-api.md": () => httpApiPage(load),
};

await main(async () => {
  const folder = join(ROOT, "docs/reference");
  if (!existsSync(join(ROOT, "dist/lib"))) throw new Problem("dist/lib is missing. Run: npm run build");
  mkdirSync(folder, { recursive: true });
  const stale = [];
  for (const [name, make] of Object.entries(PAGES)) {
    const path = join(folder, name);
    const text = await make();
    if (existsSync(path) && readFileSync(path, "utf8") === text) continue;
    stale.push(name);
    if (!isCheck) writeFileSync(path, text);
  }
  if (isCheck && stale.length > 0) throw new Problem(`docs/reference is not up to date (${stale.join(", ")}). Run: npm run docs`);
  say(stale.length === 0 ? "docs/reference is up to date" : `Wrote ${stale.join(", ")}`);
});
