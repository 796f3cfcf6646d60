/** Memos in a folder, one file each. A file is there whole or not at all. */
import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const TITLE_MAX = 200;
const TEXT_MAX = 20_000;

/** What a client did wrong. */
export class MemoError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export class Memos {
  #folder;

  static async open(folder) {
    // Its parent must be there: Node's recursive `mkdir` never ends where nothing can be made, such as in /proc.
    await mkdir(folder, { mode: 0o700 }).catch((error) => {
      if (error.code !== "EEXIST") throw error;
    });
    await readdir(folder);
    const memos = new Memos();
    memos.#folder = folder;
    return memos;
  }

  /** Newest first. */
  async list() {
    const names = (await readdir(this.#folder)).filter((name) => name.endsWith(".json"));
    const memos = await Promise.all(names.map((name) => this.#read(name.slice(0, -".json".length))));
    return memos.filter((memo) => memo !== undefined).sort((a, b) => (a.created < b.created ? 1 : -1));
  }

  async get(id) {
    const memo = await this.#read(id);
    if (memo === undefined) throw new MemoError(404, `There is no memo ${String(id).slice(0, 50)}`);
    return memo;
  }

  async create(given) {
    const { title, text = "" } = checked(given, ["title"]);
    const now = new Date().toISOString();
    return this.#write({ id: randomUUID(), title, text, created: now, updated: now });
  }

  async update(id, given) {
    const memo = await this.get(id);
    return this.#write({ ...memo, ...checked(given, []), updated: new Date().toISOString() });
  }

  async remove(id) {
    const memo = await this.get(id);
    await rm(this.#path(id));
    return memo;
  }

  async #read(id) {
    if (!ID.test(id)) return undefined;
    try {
      return JSON.parse(await readFile(this.#path(id), "utf8"));
    } catch (error) {
      if (error.code === "ENOENT") return undefined;
      throw error;
    }
  }

  async #write(memo) {
    const fresh = join(this.#folder, `.${randomUUID()}`);
    await writeFile(fresh, JSON.stringify(memo, undefined, 2), { mode: 0o600 });
    await rename(fresh, this.#path(memo.id));
    return memo;
  }

  #path(id) {
    return join(this.#folder, `${id}.json`);
  }
}

function checked(given, required) {
  if (typeof given !== "object" || given === null || Array.isArray(given)) throw new MemoError(400, "Send an object");
  const limits = { title: TITLE_MAX, text: TEXT_MAX };
  for (const [name, value] of Object.entries(given)) {
    if (!(name in limits)) throw new MemoError(400, `A memo has no ${name.slice(0, 50)}`);
    if (typeof value !== "string" || value.length > limits[name]) throw new MemoError(400, `${name} is a text of at most ${limits[name]} characters`);
  }
  for (const name of required) if (given[name] === undefined) throw new MemoError(400, `A memo needs a ${name}`);
  if (given.title?.trim() === "") throw new MemoError(400, "The title is empty");
  return given;
}
