import { posix } from "node:path";
import type { StdioTarget } from "../../client/config/resolve-server.ts";
import type { HubServer } from "../hub-server.ts";
import { type HubSettings, MOUNT_PATH } from "../hub-settings.ts";
import { entryProblem } from "./entry-problem.ts";

interface Entry extends Pick<StdioTarget, "name" | "args" | "ownEnv"> {
  /** Variables that its secrets fill. */
  readonly secret: readonly string[];
}

interface ReadOptions {
  readonly env: Record<string, string>;
  readonly mounts: NonNullable<HubSettings["mount"]>[];
}

const COMMANDS = ["docker", "podman"];
/** Options that say nothing new of a sandbox. */
const IGNORED = ["-i", "--interactive", "--rm", "--init"];
const TAKEN: Readonly<Record<string, (entry: Entry, value: string, found: ReadOptions) => void>> = {
  "-e": readVariable,
  "--env": readVariable,
  "-v": readVolume,
  "--volume": readVolume,
  "--mount": readMount,
};

/**
 * A server that `docker run` would start, as one whose sandbox begins with the template of the image: with the variables and the folder that the
 * options name, and no other. Any other server stays as it is. Throws `CONFIG_INVALID` for options that a sandbox does not have.
 */
export function withImage(server: HubServer): HubServer {
  const { target, settings } = server;
  if (target.kind !== "stdio" || settings.isolation === "none" || settings.template !== undefined) return server;
  if (!COMMANDS.includes(posix.basename(target.command)) || target.args[0] !== "run") return server;
  const secret = Object.values(settings.secrets ?? {}).map((use) => use.env);
  const { env, mounts, rest } = readOptions({ ...target, secret });
  const [image, ...args] = rest;
  if (image === undefined) throw entryProblem(target.name, "args", "docker run names no image");
  const [mount, another] = [...mounts, ...(settings.mount ? [settings.mount] : [])];
  if (another) throw entryProblem(target.name, "args", "a sandbox has one folder of the host, and several are named");
  return {
    ...server,
    target: { ...target, ownEnv: env, cwd: undefined },
    settings: { ...settings, image: { image, args }, ...(mount && { mount }) },
  };
}

function readOptions(entry: Entry): ReadOptions & { readonly rest: readonly string[] } {
  const args = entry.args.slice(1);
  const found: ReadOptions = { env: {}, mounts: [] };
  let at = 0;
  for (; args[at]?.startsWith("-") === true; at += 1) {
    const [flag = "", inline] = (args[at] ?? "").split(/=(.*)/s);
    if (IGNORED.includes(flag) && inline === undefined) continue;
    const take = Object.hasOwn(TAKEN, flag) ? TAKEN[flag] : undefined;
    if (!take) throw refused(entry, flag);
    const value = inline ?? args[(at += 1)];
    if (value === undefined || value === "") throw entryProblem(entry.name, "args", `${flag} has no value`);
    take(entry, value, found);
  }
  return { ...found, rest: args.slice(at) };
}

/** A name alone means the value that docker itself would have. */
function readVariable({ name: server, ownEnv, secret }: Entry, text: string, { env }: ReadOptions): void {
  const [name = "", value = Object.hasOwn(ownEnv, text) ? ownEnv[text] : undefined] = text.split(/=(.*)/s);
  if (value === undefined && secret.includes(name)) return;
  if (value === undefined) throw entryProblem(server, "env", `there is no ${JSON.stringify(name.slice(0, 100))}, which -e passes on`);
  env[name] = value;
}

function readVolume(entry: Entry, text: string, { mounts }: ReadOptions): void {
  const [host = "", path = "", mode = "rw", ...more] = text.split(":");
  if (more.length > 0 || (mode !== "ro" && mode !== "rw"))
    throw entryProblem(entry.name, "args", "-v is written HOST:PATH or HOST:PATH:ro");
  mounts.push(toMount(entry, { host, path, mode }));
}

function readMount(entry: Entry, text: string, { mounts }: ReadOptions): void {
  const fields = new Map(text.split(",").map((field) => field.split(/=(.*)/s).slice(0, 2) as [string, string | undefined]));
  const [host, path] = [fields.get("src") ?? fields.get("source"), fields.get("dst") ?? fields.get("destination") ?? fields.get("target")];
  const known = ["type", "src", "source", "dst", "destination", "target", "readonly", "ro"];
  const strange = [...fields.keys()].find((field) => !known.includes(field));
  if (strange !== undefined || fields.get("type") !== "bind")
    throw entryProblem(entry.name, "args", "--mount is taken with type=bind, src, dst and readonly");
  const isReadOnly = ["readonly", "ro"].some((field) => fields.has(field) && fields.get(field) !== "false");
  mounts.push(toMount(entry, { host: host ?? "", path: path ?? "", mode: isReadOnly ? "ro" : "rw" }));
}

function toMount({ name }: Entry, { host, path, mode }: { readonly host: string; readonly path: string; readonly mode: "ro" | "rw" }) {
  if (!host.startsWith("/")) throw entryProblem(name, "args", `${JSON.stringify(host.slice(0, 100))} is no absolute path of this machine`);
  if (posix.normalize(path).replace(/\/$/, "") === MOUNT_PATH) return { host, mode };
  const problem = `the folder is to be at ${JSON.stringify(path.slice(0, 100))}, and a sandbox has its one folder of the host at ${MOUNT_PATH}`;
  throw entryProblem(name, "args", `${problem}: write that there, and in the arguments behind the image`);
}

function refused({ name }: Entry, flag: string): Error {
  const known = [...Object.keys(TAKEN), ...IGNORED].join(", ");
  const problem = `the option ${JSON.stringify(flag.slice(0, 100))} of docker run is not taken: Belljar knows ${known}`;
  return entryProblem(name, "args", `${problem}; "network", "limits" and "mounts" of the entry say what its sandbox has`);
}
