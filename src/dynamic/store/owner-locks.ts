import { randomBytes } from "node:crypto";
import * as z from "zod";
import { TurnsByKey } from "../../async/turns-by-key.ts";
import { NumberedFile } from "../../files/numbered-file.ts";
import { parseJson } from "../../files/parse-json.ts";
import { lookUntil } from "../../sandbox/state/look-until.ts";
import { isProcessAlive, markProcess } from "../../sandbox/workspace/apply/process-mark.ts";
import { ownerBusy } from "./assert-storable.ts";
import { folderNameOf } from "./unit-folder-names.ts";

const WAIT_MS = 10_000;

const schema = z.object({
  version: z.literal(1),
  /** Absent: nobody has it. */
  holder: z.object({ token: z.string(), by: z.string() }).optional(),
});

type Lock = Omit<z.output<typeof schema>, "version">;

const FREE: Lock = {};

/** One change at a time of an owner's units, of all processes: `<owner>.<number>.json`. That of a dead process counts for nothing. */
export class OwnerLocks {
  readonly #folder: string;
  readonly #turns = new TurnsByKey();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Rejects with `TOOL_CONFLICT` if another process takes long. */
  alone<T>(owner: string, work: () => Promise<T>): Promise<T> {
    return this.#turns.run(owner, async () => {
      const file = this.#file(owner);
      const mine = { token: randomBytes(9).toString("base64url"), by: (await markProcess()) ?? "" };
      const take = async (): Promise<true | undefined> => {
        const { value } = await file.change(FREE, async (now) =>
          now.holder && (await isProcessAlive(now.holder.by)) ? now : { holder: mine },
        );
        return value.holder?.token === mine.token || undefined;
      };
      const isTaken = await lookUntil(this.#folder, take, { ms: WAIT_MS, signal: new AbortController().signal });
      if (!isTaken) throw ownerBusy();
      try {
        return await work();
      } finally {
        await file.change(FREE, (now) => (now.holder?.token === mine.token ? FREE : now));
      }
    });
  }

  #file(owner: string): NumberedFile<Lock> {
    return new NumberedFile({
      folder: this.#folder,
      name: folderNameOf(owner),
      title: "who changes tools of an owner",
      serialise: (value) => JSON.stringify({ version: 1, ...value }),
      // After a power cut it may be empty: no process of before changes anything.
      parse: (text) => schema.safeParse(parseJson(text)).data ?? FREE,
    });
  }
}
