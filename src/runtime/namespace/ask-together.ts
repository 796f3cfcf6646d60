import { spawn } from "node:child_process";

/** The program waits half a second for each answer, and asks 128 together. */
const ALL_MS = 10_000;
/** The limits of the program. */
const [PATH_MAX, REQUEST_MAX] = [107, 256];
const SIZE_BYTES = 2;
const LINE_BYTES = 6;

/** One request to a unix socket. */
export interface Question {
  readonly path: string;
  readonly request: Buffer;
}

/**
 * Asks all sockets in another process, and resolves with the first frame of each answer, in the order of the questions. Undefined for each
 * that does not answer at once, and for all of them if the program cannot run. The frames are as strangers sent them, up to about a kilobyte.
 */
export function askTogether(binary: string, questions: readonly Question[]): Promise<readonly (Buffer | undefined)[]> {
  return new Promise((resolve) => {
    const child = spawn(binary, ["ask"], {
      stdio: ["pipe", "pipe", "ignore"],
      env: {},
      cwd: "/",
      timeout: ALL_MS,
      killSignal: "SIGKILL",
    });
    child.once("error", () => resolve(questions.map(() => undefined)));
    if (child.pid === undefined) return; // it has no pipes then
    const chunks: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => void chunks.push(chunk));
    child.stdin.on("error", () => {}).end(Buffer.concat(questions.flatMap(encode)));
    child.once("close", () => resolve(decode(Buffer.concat(chunks), questions.length)));
  });
}

/** The program stops at a question that is none: this one asks nobody. */
const NOBODY: Question = { path: "/", request: Buffer.from([0]) };

function encode(question: Question): Buffer[] {
  const path = Buffer.from(question.path);
  if (path.length > PATH_MAX || question.request.length > REQUEST_MAX) return encode(NOBODY);
  return [path, question.request].flatMap((part) => [sizeOf(part), part]);
}

function sizeOf({ length }: Buffer): Buffer {
  const size = Buffer.alloc(SIZE_BYTES);
  size.writeUInt16BE(length);
  return size;
}

function decode(lines: Buffer, count: number): readonly (Buffer | undefined)[] {
  const answers: (Buffer | undefined)[] = Array.from({ length: count });
  for (let at = 0; at + LINE_BYTES <= lines.length;) {
    const [number, end] = [lines.readUInt32BE(at), at + LINE_BYTES + lines.readUInt16BE(at + LINE_BYTES - SIZE_BYTES)];
    if (number < count && end <= lines.length) answers[number] = lines.subarray(at + LINE_BYTES, end);
    at = end;
  }
  return answers;
}
