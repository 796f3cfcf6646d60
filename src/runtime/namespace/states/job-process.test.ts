import { expect, it } from "vitest";
import { makeShellProgram } from "../../../../test/support/shell-program.ts";
import { encodeFrame } from "../../../protocol/frames.ts";
import { FRAME } from "../../../protocol/wire.ts";
import { JobProcess } from "./job-process.ts";

interface Told {
  readonly output: string;
  readonly said: string;
  readonly code: number;
}

/** How a job went. */
function carryOut(jobs: JobProcess, input: Buffer): Promise<Told> {
  return new Promise((resolve, reject) => {
    const told = { output: "", said: "" };
    jobs.begin(input, {
      output: (text) => void (told.output += text.toString()),
      said: (text) => void (told.said += text.toString()),
      ended: (code) => resolve({ ...told, code }),
      lost: reject,
    });
  });
}

function end(number: number, code: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(code);
  return encodeFrame(FRAME.REPLY, number, bytes);
}

const bytesOf = (frames: readonly Buffer[]): string => Buffer.concat(frames).toString("hex");
const writes = (frames: readonly Buffer[]): string =>
  `printf '${bytesOf(frames)
    .match(/../g)
    ?.map((byte) => `\\${Number.parseInt(byte, 16).toString(8).padStart(3, "0")}`)
    .join("")}'`;
const failed = (code: string) => expect.objectContaining({ code }) as Error;

it("tells what each job printed, and how it ended", async () => {
  const answers = [
    encodeFrame(FRAME.DATA, 1, Buffer.from("second")),
    encodeFrame(FRAME.DATA, 0, Buffer.from("first ")),
    encodeFrame(FRAME.EVENT, 1, Buffer.from("oh")),
    encodeFrame(FRAME.DATA, 0, Buffer.from("job")),
    end(1, 5),
    end(0, 0),
  ];
  using program = makeShellProgram(`echo "$@" > "$here/asked"; head -c 34 > "$here/frames"; ${writes(answers)}; cat > /dev/null`);
  const jobs = new JobProcess(program.path);
  expect(await Promise.all([carryOut(jobs, Buffer.from("a")), carryOut(jobs, Buffer.from("b"))])).toEqual([
    { output: "first job", said: "", code: 0 },
    { output: "second", said: "oh", code: 5 },
  ]);
  expect(program.read("asked")).toBe("jobs\n");
  const sent = [0, 1].flatMap((number) => [
    encodeFrame(FRAME.DATA, number, Buffer.from("ab"[number] ?? "")),
    encodeFrame(FRAME.END, number),
  ]);
  expect(Buffer.from(program.read("frames")).toString("hex")).toBe(bytesOf(sent));
});

it("fails what runs when its process is gone, and starts another one for the next job", async () => {
  using program = makeShellProgram(`[ -e "$here/second" ] && { ${writes([end(0, 0)])}; cat > /dev/null; }; : > "$here/second"`);
  const jobs = new JobProcess(program.path);
  await expect(Promise.all([carryOut(jobs, Buffer.from("a")), carryOut(jobs, Buffer.from("b"))])).rejects.toThrow(failed("RUNTIME_FAILED"));
  expect(await carryOut(jobs, Buffer.from("c"))).toMatchObject({ code: 0 });
});

it("fails what runs when its process cannot be understood", async () => {
  using program = makeShellProgram("printf 'no frame at all'; cat > /dev/null");
  await expect(carryOut(new JobProcess(program.path), Buffer.from("a"))).rejects.toThrow(failed("RUNTIME_FAILED"));
});

it("says that the native part is missing", async () => {
  await expect(carryOut(new JobProcess("/nowhere/belljar-native"), Buffer.from("a"))).rejects.toThrow(failed("RUNTIME_UNAVAILABLE"));
});

it("begins so many jobs at once and no more", async () => {
  const all = Array.from({ length: 256 }, (_, number) => end(number, 0));
  using program = makeShellProgram(`head -c ${256 * 17} > /dev/null; ${writes(all)}; cat > /dev/null`);
  const jobs = new JobProcess(program.path);
  const many = all.map(() => carryOut(jobs, Buffer.from("a")));
  await expect(carryOut(jobs, Buffer.from("b"))).rejects.toThrow(failed("RUNTIME_UNAVAILABLE"));
  expect((await Promise.all(many)).every(({ code }) => code === 0)).toBe(true);
});
