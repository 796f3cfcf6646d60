import { parseJson } from "../../files/parse-json.ts";
import { withGitNames } from "./git-name.ts";

interface Rule {
  readonly path: RegExp;
  readonly reason: string;
}

/** What programs of the host run or obey without being asked, by path. Names are compared in lower case: the host may not tell cases apart. */
const RULES: readonly Rule[] = [
  { path: /(?:^|\/)\.git(?:$|\/)/, reason: "git runs commands that it names" },
  { path: /(?:^|\/)\.gitmodules$/, reason: "git fetches what it names" },
  { path: /(?:^|\/)\.envrc$/, reason: "direnv runs it" },
  { path: /(?:^|\/)\.husky(?:$|\/)/, reason: "git runs its hooks" },
  { path: /(?:^|\/)(?:lefthook|\.lefthook|\.pre-commit-config)\.(?:ya?ml|toml|json)$/, reason: "git runs its hooks" },
  { path: /(?:^|\/)\.vscode(?:$|\/(?:tasks|settings|launch|mcp|extensions)\.json$)/, reason: "VS Code obeys it" },
  { path: /(?:^|\/)\.devcontainer(?:$|\/|\.json$)/, reason: "editors run commands that it names" },
  {
    path: /(?:^|\/)(?:\.mcp\.json$|opencode\.jsonc?$|\.(?:cursor|claude|gemini|codex|opencode|windsurf)(?:$|\/))/,
    reason: "an agent on the host obeys it",
  },
  { path: /(?:^|\/)\.zed(?:$|\/)/, reason: "Zed obeys it" },
  { path: /(?:^|\/)\.idea(?:$|\/(?:runconfigurations\/|externaldependencies\.xml$))/, reason: "JetBrains editors obey it" },
  { path: /(?:^|\/)\.github(?:$|\/(?:workflows|actions)(?:$|\/))/, reason: "CI runs it" },
  { path: /(?:^|\/)\.(?:circleci|buildkite|woodpecker|forgejo|gitea|ci)(?:$|\/)/, reason: "CI runs it" },
  {
    path: /(?:^|\/)(?:\.gitlab-ci|azure-pipelines|bitbucket-pipelines|\.travis|\.drone|\.cirrus|appveyor|\.appveyor)\.ya?ml$/,
    reason: "CI runs it",
  },
  { path: /(?:^|\/)jenkinsfile$/, reason: "CI runs it" },
  {
    path: /(?:^|\/)(?:\.npmrc|\.yarnrc|\.yarnrc\.yml|\.pnpmfile\.cjs|\.yarn(?:\/(?:releases|plugins)(?:\/.*)?)?)$/,
    reason: "package managers obey it",
  },
  { path: /(?:^|\/)binding\.gyp$/, reason: "npm builds what it describes" },
];

/** Why a file of this path is written only if it is named. Undefined for the others. */
export function findReason(key: string): string | undefined {
  const name = withGitNames(key).toLowerCase();
  return RULES.find(({ path }) => path.test(name))?.reason;
}

const PACKAGE = /(?:^|\/)package\.json$/i;

export function isPackageFile(key: string): boolean {
  return PACKAGE.test(key);
}

/** Whether two versions of a `package.json` differ in their scripts. What is not JSON has none, but as a new version it counts as different. */
export function changesScripts(before: Buffer, after: Buffer): boolean {
  const parsed = parse(after);
  return parsed === undefined || scriptsOf(parse(before)) !== scriptsOf(parsed);
}

/** As package managers do, which skip a byte order mark. */
function parse(content: Buffer): unknown {
  return parseJson(content.toString().replace(/^\uFEFF/, ""));
}

function scriptsOf(parsed: unknown): string {
  const scripts = typeof parsed === "object" && parsed !== null && "scripts" in parsed ? parsed.scripts : undefined;
  if (typeof scripts !== "object" || scripts === null) return "[]";
  return JSON.stringify(Object.entries(scripts).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
