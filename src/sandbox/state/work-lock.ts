import { randomBytes } from "node:crypto";
import * as z from "zod";
import { TurnsByKey } from "../../async/turns-by-key.ts";
import { NumberedFile } from "../../files/numbered-file.ts";
import { parseJson } from "../../files/parse-json.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import { isProcessAlive, markProcess } from "../workspace/apply/process-mark.ts";
import { lookUntil } from "./look-until.ts";
import { busy } from "./state-errors.ts";

const schema = z.object({
  version: z.literal(1),
  /** Absent: nobody is at work. */
  work: z
    .object({
      kind: z.enum(["freeze", "rollback"]),
      /** The user of the layers, as long as nothing else says that it is one. */
      user: z.string(),
      /** Tells the works of one process apart. */
      token: z.string(),
      /** The process that does it. */
      by: z.string(),
    })
    .optional(),
});

type WorkFile = Omit<z.output<typeof schema>, "version">;

/** What is done to the states of one sandbox. */
export type StateWork = Readonly<NonNullable<WorkFile["work"]>>;

const NOBODY: WorkFile = {};
/** Whoever finds a sandbox at work, or a start of it in progress, waits so long for its end. Longer ones are refused: they may be tried again. */
export const WAIT_MS = 5_000;

/**
 * One freeze or rollback of a sandbox at a time, whichever processes ask: `sandboxes/<id>/work.<number>.json`. The work of a dead process
 * counts for nothing. A start writes its new run first and then looks here. A work is written here first, and then looks at the run. So
 * of the two at least one sees the other.
 */
export class WorkLock {
  readonly #folder: (id: string) => string;
  readonly #report: (problem: string) => void;
  readonly #turns = new TurnsByKey();
  /** Works of this process that are over, though the disk did not take that. */
  readonly #over = new Set<string>();
  #self: Promise<string | undefined> | undefined;

  constructor(folder: (id: string) => string, report: (problem: string) => void) {
    this.#folder = folder;
    this.#report = report;
  }

  /** Calls of this process wait for their turn. Rejects with `RUNTIME_UNAVAILABLE` if another process is at work for long. */
  async run<T>({ id }: SandboxRecord, asked: Pick<StateWork, "kind" | "user">, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.#turns.run(
      id,
      async () => {
        const token = await this.#take(id, asked, signal);
        try {
          return await work();
        } finally {
          await this.#giveBack(id, token);
        }
      },
      signal,
    );
  }

  /** What a live process does to the sandbox now. */
  async find(id: string): Promise<StateWork | undefined> {
    const { value } = await this.#file(id).read(NOBODY);
    return value.work && (await this.#isAlive(value.work)) ? value.work : undefined;
  }

  async #take(id: string, asked: Pick<StateWork, "kind" | "user">, signal: AbortSignal): Promise<string> {
    const mine = { ...asked, token: randomBytes(9).toString("base64url"), by: (await (this.#self ??= markProcess())) ?? "" };
    const isTaken = await lookUntil(this.#folder(id), () => this.#tryTake(id, mine), { ms: WAIT_MS, signal });
    if (isTaken) return mine.token;
    signal.throwIfAborted();
    throw busy({ id });
  }

  async #tryTake(id: string, mine: StateWork): Promise<true | undefined> {
    const { value } = await this.#file(id).change(NOBODY, async (now) =>
      now.work && (await this.#isAlive(now.work)) ? now : { work: mine },
    );
    return value.work?.token === mine.token || undefined;
  }

  /** If the disk is full, this process at least goes on as if it were given back, and others once this process has ended. */
  async #giveBack(id: string, token: string): Promise<void> {
    try {
      await this.#file(id).change(NOBODY, (now) => (now.work?.token === token ? {} : now));
    } catch (cause) {
      this.#over.add(token);
      this.#report(`Other processes cannot freeze sandbox ${id} or put it back before this one has ended: ${String(cause)}`);
    }
  }

  async #isAlive({ token, by }: StateWork): Promise<boolean> {
    return !this.#over.has(token) && (await isProcessAlive(by));
  }

  #file(id: string): NumberedFile<WorkFile> {
    return new NumberedFile({
      folder: this.#folder(id),
      name: "work",
      title: `the work on the states of sandbox ${id}`,
      serialise: (value) => JSON.stringify({ version: 1, ...value }),
      // After a power cut the file may be empty: no process of before is at work.
      parse: (text) => schema.safeParse(parseJson(text)).data ?? NOBODY,
    });
  }
}
