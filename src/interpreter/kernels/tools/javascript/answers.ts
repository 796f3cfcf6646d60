import { writeAll } from "../../javascript/write-all.ts";

const CHANNEL_FD = 3;
/** Of one call. Those beyond are dropped. */
const MAX_NOTES = 10_000;
/** As they are now: the author's code may change them. */
const toJson = JSON.stringify.bind(JSON);
const encode = TextEncoder.prototype.encode.bind(new TextEncoder());
const endProcess = Reflect.get(process, "reallyExit").bind(process) as (code: number) => never;

/**
 * The way to the host: a JSON line an answer, on descriptor 3. Node can move no descriptor, so that the author's code can write there too.
 * Therefore each line carries the token, which no object that the code can reach has, and begins with a line feed,
 * which ends what else was written. The bodies are JSON texts: a replaced `JSON.stringify` or a `toJSON` on a prototype sees no token.
 */
export class Answers {
  readonly #start: string;
  #notes = 0;

  constructor(token: string) {
    this.#start = `\n{"token":${toJson(token)},"type":`;
  }

  /** What a call tells on its way. */
  note(type: "progress" | "log", body: string): void {
    if (++this.#notes <= MAX_NOTES) this.#write(type, body);
  }

  /** What the host is to do, which answers on the same channel. */
  ask(body: string): void {
    this.#write("call", body);
  }

  /** The last line. It ends the process, whatever the code left running, and without its `exit` listeners. */
  end(type: "tools" | "requirements" | "refused" | "result" | "returned" | "error", body: string): never {
    this.#write(type, body);
    return endProcess(0);
  }

  /** `body` is an object with a field or more. */
  #write(type: string, body: string): void {
    try {
      writeAll(CHANNEL_FD, encode(`${this.#start}"${type}",${body.slice(1)}\n`));
    } catch {
      // The code closed the channel, or the host did: nobody can be told.
      endProcess(1);
    }
  }
}
