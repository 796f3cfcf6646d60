import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { fileError } from "../files/file-error.ts";
import { usage } from "./usage.ts";

const HELP = "belljar template build --help";

type Variables = Readonly<Record<string, string | undefined>>;

/** The values of `--secret id=NAME[,src=FILE|,env=VARIABLE]`. Without a place it is the variable of that name. */
export async function readSecrets(texts: readonly string[], env: Variables): Promise<Readonly<Record<string, string>>> {
  const entries = await Promise.all(texts.map((text) => readSecret(text, env)));
  return Object.fromEntries(entries);
}

async function readSecret(text: string, env: Variables): Promise<readonly [string, string]> {
  const parts = new Map(text.split(",").map(parsePart));
  const { id = "", src, env: variable = id, ...more } = Object.fromEntries(parts);
  if (id === "" || Object.keys(more).length > 0 || (src !== undefined && parts.has("env")))
    throw usage("--secret takes id=NAME, id=NAME,src=FILE or id=NAME,env=VARIABLE", HELP);
  if (src !== undefined) return [id, await readText(resolve(src))];
  const value = Object.hasOwn(env, variable) ? env[variable] : undefined;
  if (value === undefined) throw usage(`--secret id=${id} takes the variable ${variable}, which is not set`, HELP);
  return [id, value];
}

function parsePart(part: string): readonly [string, string] {
  const at = part.indexOf("=");
  return at < 0 ? [part, ""] : [part.slice(0, at), part.slice(at + 1)];
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw fileError(path, cause);
  }
}
