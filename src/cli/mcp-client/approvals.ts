import { z } from "zod";
import { digestOf } from "../../files/canonical.ts";
import { NumberedFile } from "../../files/numbered-file.ts";
import { parseJson } from "../../files/parse-json.ts";
import type { ServerConfig } from "../../mcp/client/config/server-config.ts";

/** Older ones go first. */
const ENTRIES_MAX = 1000;

const schema = z.object({ version: z.literal(1), entries: z.array(z.object({ file: z.string(), name: z.string(), digest: z.string() })) });
type Entries = z.infer<typeof schema>["entries"];

/** The entries of projects' files that a person has agreed to start, each by its file, its name and the digest of all that it says. */
export class Approvals {
  readonly #file: NumberedFile<Entries>;

  constructor(folder: string) {
    this.#file = new NumberedFile({
      folder,
      name: "projects",
      title: "the approved servers of projects",
      serialise: (entries) => JSON.stringify({ version: 1, entries }),
      // Of a damaged file nothing is approved.
      parse: (text) => schema.safeParse(parseJson(text)).data?.entries ?? [],
    });
  }

  async has(file: string, config: ServerConfig): Promise<boolean> {
    const { value } = await this.#file.read<Entries>([]);
    return value.some((entry) => entry.file === file && entry.name === config.name && entry.digest === digestOf(config));
  }

  async add(file: string, config: ServerConfig): Promise<void> {
    const added = { file, name: config.name, digest: digestOf(config) };
    await this.#file.change([], (now) => [
      ...now.filter((entry) => entry.file !== file || entry.name !== config.name).slice(1 - ENTRIES_MAX),
      added,
    ]);
  }
}
