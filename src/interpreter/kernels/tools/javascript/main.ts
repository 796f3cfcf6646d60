import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { Answers } from "./answers.ts";
import { toAnswer } from "./content.ts";
import { Calls, ToolError } from "./calls.ts";
import { createContext } from "./context.ts";
import { defineTool, image } from "./define-tool.ts";
import { lineOf, toFailure } from "./failure.ts";
import { toJsonText } from "./json-text.ts";
import { UnitLoader } from "./load-unit.ts";
import { describeTools, findTools } from "./read-tools.ts";
import { Refusal } from "./refusal.ts";
import { readRequirements } from "./requirements.ts";
import { toArguments } from "./schemas.ts";
import { createTools, type ScriptTool } from "./script-tools.ts";
import { UnitSource } from "./unit-source.ts";

/**
 * Runs inside a sandbox: reads the tools of a unit in JavaScript or TypeScript, or calls one, or runs a script. One request comes on stdin,
 * answers go as JSON lines on descriptor 3. Packages are those of the folder that the process is in.
 * This module is also what a unit imports as `belljar`. It has no top-level `await`: that import would wait for itself.
 */
export { defineTool, image };

interface Request {
  readonly do: "read" | "call" | "requirements" | "script";
  readonly language: string;
  readonly code: string;
  readonly name: string;
  readonly function?: string;
  readonly arguments?: Readonly<Record<string, unknown>>;
  /** Those that a script calls, and how many calls it makes at once. */
  readonly tools?: readonly ScriptTool[];
  readonly concurrent?: number;
  readonly token: string;
}

const LIMITS = { maxBytes: 8 * 1024 * 1024 };

async function main(): Promise<void> {
  prepareProcess();
  const loader = new UnitLoader({ defineTool, image }, import.meta.url);
  const { token, ...request } = JSON.parse(await readInput()) as Request;
  const unit = new UnitSource(request.name, request.language, request.code);
  const harness = new Harness(new Answers(token), unit, request);
  await harness.run(loader);
}

class Harness {
  readonly #answers: Answers;
  readonly #unit: UnitSource;
  readonly #request: Omit<Request, "token">;

  constructor(answers: Answers, unit: UnitSource, request: Omit<Request, "token">) {
    this.#answers = answers;
    this.#unit = unit;
    this.#request = request;
  }

  /** Whatever the code does, the first end is the answer. */
  async run(loader: UnitLoader): Promise<void> {
    this.#watch();
    try {
      if (this.#request.do === "requirements") this.#tellRequirements();
      else if (this.#request.do === "read") await this.#read(loader);
      else if (this.#request.do === "script") await this.#runScript(loader);
      else await this.#call(loader);
    } catch (error) {
      this.#fail(error);
    }
  }

  #tellRequirements(): void {
    this.#answers.end("requirements", toJsonText({ requirements: readRequirements(this.#unit.code) }, LIMITS));
  }

  async #read(loader: UnitLoader): Promise<void> {
    const requirements = readRequirements(this.#unit.code);
    const tools = await describeTools(findTools(await loader.load(this.#unit), this.#request.name), this.#unit.code);
    this.#answers.end("tools", toJsonText({ tools, requirements }, LIMITS));
  }

  async #call(loader: UnitLoader): Promise<void> {
    const tools = findTools(await loader.load(this.#unit), this.#request.name);
    const tool = tools.find(({ key }) => key === this.#request.function);
    if (!tool) throw new Refusal(`The code exports no tool ${JSON.stringify(this.#request.function)}`, null);
    const { definition } = tool;
    const args = await toArguments(definition.input, this.#request.arguments ?? {});
    const result = await definition.run(args, createContext(this.#answers));
    this.#answers.end("result", await toAnswer(result, definition.output));
  }

  async #runScript(loader: UnitLoader): Promise<void> {
    const { tools = [], concurrent = 1 } = this.#request;
    const given = { tools: createTools(tools, new Calls(this.#answers, concurrent)), ToolError, image };
    const value = await loader.runBody(this.#unit, given);
    this.#answers.end("returned", toJsonText({ value: value ?? null }, LIMITS));
  }

  #fail(thrown: unknown): void {
    const failure = toFailure(thrown, this.#unit);
    if (this.#request.do === "call" || this.#request.do === "script") return this.#answers.end("error", toJsonText(failure, LIMITS));
    const message = thrown instanceof Refusal ? thrown.message : `${failure.name}: ${failure.message}`;
    this.#answers.end("refused", toJsonText({ line: lineOf(thrown, this.#unit), message }, LIMITS));
  }

  /** The ends that the code takes instead of an answer. */
  #watch(): void {
    const fail = (thrown: unknown): void => this.#fail(thrown);
    process.on("uncaughtException", fail);
    process.on("unhandledRejection", fail);
    process.on("beforeExit", () => fail(new Error("The code waits for a promise that nothing can settle")));
    process.exit = (code) => {
      fail(new ExitError(`The code called process.exit(${String(code ?? "")})`));
      throw new ExitError("The process is ending");
    };
  }
}

class ExitError extends Error {
  override readonly name = "ExitError";
}

/** As the author's code finds it: the harness is not its program, and its input is at the end. */
function prepareProcess(): void {
  process.argv.splice(1);
  process.execArgv.splice(0);
  // Else prints that the host has not read yet would be lost with the process.
  for (const stream of [process.stdout, process.stderr]) {
    const { _handle: handle } = stream as { readonly _handle?: { setBlocking?(isBlocking: boolean): void } };
    handle?.setBlocking?.(true);
  }
  Object.defineProperty(globalThis, "defineTool", { value: defineTool, configurable: true, writable: true });
}

async function readInput(): Promise<string> {
  // Not by `Buffer.concat`: its memory is that of later small buffers, in which the code would find the token.
  const input = await text(process.stdin);
  Object.defineProperty(process, "stdin", { value: Readable.from([]), configurable: true, writable: true });
  return input;
}

void main();
