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
  readonly #self = randomBytes(9).toString("base64url");
  readonly #turns = new TurnsByKey();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Rejects with `TOOL_STORE_BUSY` if another process takes long, and with the signal's reason while it waits. */
  alone<T>(owner: string, work: () => Promise<T>, signal: AbortSignal = new AbortController().signal): Promise<T> {
    return this.#turns.run(
      owner,
      async () => {
        const file = this.#file(owner);
        const token = await this.#take(file, signal);
        try {
          return await work();
        } finally {
          // The work is done. If the disk does not take this, others wait until this process has ended or has the next turn.
          await file.change(FREE, (now) => (now.holder?.token === token ? FREE : now)).catch(() => undefined);
        }
      },
      signal,
    );
  }

  /** What this one has left there is nobody's: it has one turn at a time. */
  async #take(file: NumberedFile<Lock>, signal: AbortSignal): Promise<string> {
    const mine = { token: `${this.#self}.${randomBytes(9).toString("base64url")}`, by: (await markProcess()) ?? "" };
    const isTaken = async ({ holder }: Lock): Promise<boolean> =>
      holder !== undefined && !holder.token.startsWith(`${this.#self}.`) && (await isProcessAlive(holder.by));
    const take = async (): Promise<true | undefined> => {
      const { value } = await file.change(FREE, async (now) => ((await isTaken(now)) ? now : { holder: mine }));
      return value.holder?.token === mine.token || undefined;
    };
    if (await lookUntil(this.#folder, take, { ms: WAIT_MS, signal })) return mine.token;
    signal.throwIfAborted();
    throw ownerBusy();
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
