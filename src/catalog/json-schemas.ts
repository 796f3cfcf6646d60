import { createHash } from "node:crypto";
import type { Ajv2020, ErrorObject } from "ajv/dist/2020.js";
import { BelljarError } from "../errors.ts";
import { isNestedTooDeep } from "./nesting.ts";
import { countParts, isQuick } from "./quick-check.ts";
import type { Outcome, TimeLimit } from "./time-limit.ts";
import { createTimeLimit } from "./time-limit.ts";
import type { JsonSchema, Parsed, ToolSchema } from "./tool-schema.ts";
import { toProblem } from "./tool-schema.ts";

/** Checks values by JSON Schemas that strangers wrote, such as those of users' tools and of other servers. */
export interface JsonSchemas {
  /**
   * The schema as it was given, with a parser that does not change values. Throws `ARGUMENTS_INVALID` if the schema does not describe an
   * object, is too large, takes too long to compile, or refers to another document: nothing is ever loaded. A schema that took too long
   * to compile is refused without another try for five minutes. If a check once takes too long, this schema refuses every value of that
   * caller for that owner from then on, even after it is read again. What a busy machine kept from its end is tried again with the next value.
   */
  read(schema: unknown, owner: string): ToolSchema;
  /**
   * The same for one of very many schemas: it is compiled when the first value is checked. Throws `ARGUMENTS_INVALID` only for what can be
   * told without that; a schema that cannot be compiled refuses every value, with the reason.
   */
  readLater(schema: unknown, owner: string): ToolSchema;
}

const SCHEMA_BYTES_MAX = 262_144;
const LEVELS_MAX = 64;
const SCHEMAS_MAX = 1_000;
/** Nothing holds the server up for 200 ms. An honest schema compiles in a few milliseconds, one of 300 fields in 50, also on a busy machine. */
const COMPILE_MS = 150;
const CHECK_MS = 100;
const COMPILE_AGAIN_MS = 300_000;
/** So many checks of one caller's values a busy machine may hold up. */
const STALLS_MAX = 5;

const COMPILER_OPTIONS = {
  strict: false,
  meta: false,
  validateSchema: false,
  validateFormats: false,
  allErrors: true,
  ownProperties: true,
  addUsedSchema: false,
  logger: false as const,
  // Five times the time for code that is hardly faster.
  code: { optimize: false },
};
/** Of every kind that most schemas have. */
const COMMON = { type: "object", properties: { a: { type: "string", minLength: 1 } }, required: ["a"], additionalProperties: false };

type Validator = ReturnType<Ajv2020["compile"]>;

/** What is known of one schema, whoever reads it. */
interface Known {
  /** `stalled`: a busy machine kept the compiler from its end. */
  readonly validator: Validator | BelljarError | "stalled";
  /** The number of its parts, if a check takes no longer than they and the value say. */
  readonly parts: number | undefined;
  /** Owners and callers whose values took too long. One's values say nothing about another's. */
  readonly spentBy: Set<string>;
  /** How many of their checks a busy machine kept from their end. */
  readonly stalls: Map<string, number>;
  /** Set if the compiler was cut short: when the schema may be compiled again. */
  readonly againAt?: number;
}

export interface JsonSchemasOptions {
  readonly limit?: TimeLimit;
  /** In milliseconds. Default: `Date.now`. */
  readonly now?: () => number;
}

/** Loads Ajv, which most processes never need. */
export async function openJsonSchemas({ limit = createTimeLimit(), now = Date.now }: JsonSchemasOptions = {}): Promise<JsonSchemas> {
  const { Ajv2020: Compiler } = await import("ajv/dist/2020.js");
  // The first one takes ten times as long as the next, which on a busy machine could be more than a stranger's has.
  new Compiler(COMPILER_OPTIONS).compile(COMMON);
  return new Validators(Compiler, { limit, now });
}

class Validators implements JsonSchemas {
  readonly #Compiler: typeof Ajv2020;
  readonly #limit: TimeLimit;
  readonly #now: () => number;
  /** By the hash of the schema, least recently read first. */
  readonly #known = new Map<string, Known>();

  constructor(Compiler: typeof Ajv2020, { limit, now }: Required<JsonSchemasOptions>) {
    this.#Compiler = Compiler;
    this.#limit = limit;
    this.#now = now;
  }

  read(schema: unknown, owner: string): ToolSchema {
    const text = assertBounded(schema);
    let known = this.#find(text);
    if (known.validator instanceof BelljarError) throw known.validator;
    return {
      schema: schema as JsonSchema,
      parse: (value, caller) => {
        if (known.validator === "stalled") known = this.#find(text);
        return this.#check(known, JSON.stringify([owner, caller ?? null]), value);
      },
    };
  }

  readLater(schema: unknown, owner: string): ToolSchema {
    assertBounded(schema);
    assertRefersToItself(schema);
    let read: ToolSchema | undefined;
    return {
      schema: schema as JsonSchema,
      parse: (value, caller) => {
        try {
          read ??= this.read(schema, owner);
        } catch (error) {
          if (error instanceof BelljarError) return { problems: [error.message] };
          throw error;
        }
        return read.parse(value, caller);
      },
    };
  }

  /** The limit of time costs more than most checks. */
  #check({ validator, parts, spentBy, stalls }: Known, who: string, value: unknown): Parsed<unknown> {
    if (validator === "stalled") return BUSY;
    if (validator instanceof BelljarError) return { problems: [validator.message] };
    if (parts !== undefined && isQuick(parts, value)) return check(validator, value);
    if (spentBy.has(who)) return TOO_LONG;
    let parsed: Parsed<unknown> = TOO_LONG;
    const outcome = this.#limit.run(() => (parsed = check(validator, value)), CHECK_MS);
    if (outcome === "ran") return parsed;
    const count = (stalls.get(who) ?? 0) + 1;
    stalls.set(who, count);
    // A machine that is always busy must not make an endless pattern endless.
    if (outcome === "tooLong" || count >= STALLS_MAX) spentBy.add(who);
    return outcome === "stalled" ? BUSY : TOO_LONG;
  }

  #find(text: string): Known {
    const hash = createHash("sha256").update(text).digest("base64");
    const before = this.#known.get(hash);
    const known = before && (before.againAt ?? Number.POSITIVE_INFINITY) > this.#now() ? before : this.#learn(text);
    this.#known.delete(hash);
    this.#known.set(hash, known);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= SCHEMAS_MAX) break;
      this.#known.delete(oldest);
    }
    return known;
  }

  #learn(text: string): Known {
    const validator = this.#compile(text);
    const facts = { parts: countParts(JSON.parse(text)), spentBy: new Set<string>(), stalls: new Map<string, number>() };
    if (validator === "tooLong") {
      const again = "it takes too long to compile; make it smaller, or try again in five minutes";
      return { ...facts, validator: invalid(again), againAt: this.#now() + COMPILE_AGAIN_MS };
    }
    return { ...facts, validator, ...(validator === "stalled" && { againAt: this.#now() }) };
  }

  /** Each has a compiler of its own, so that no schema refers to another one by its `$id`. */
  #compile(text: string): Validator | BelljarError | Exclude<Outcome, "ran"> {
    // The dialect is 2020-12 whatever the schema says; the words of older drafts that servers still use are known too.
    const { $schema: _, $async: __, ...schema } = JSON.parse(text) as Record<string, unknown>;
    let validator: Validator | undefined;
    const compile = (): void => void (validator = new this.#Compiler(COMPILER_OPTIONS).compile(schema));
    try {
      const outcome = this.#limit.run(compile, COMPILE_MS);
      return outcome === "ran" && validator ? validator : outcome === "stalled" ? "stalled" : "tooLong";
    } catch (error) {
      return invalid(error instanceof Error ? error.message.slice(0, 500) : "it cannot be compiled", error);
    }
  }
}

const BUSY: Parsed<unknown> = { problems: ["this machine is too busy to check them now: try again"] };
const TOO_LONG: Parsed<unknown> = { problems: ["the tool's schema takes too long to check"] };

function check(validate: Validator, value: unknown): Parsed<unknown> {
  try {
    // An asynchronous schema would answer with a promise.
    if (validate(value) === true) return { value };
    return { problems: (validate.errors ?? []).map(describe) };
  } catch (error) {
    if (error instanceof RangeError) return { problems: ["the value is nested too deep to check"] };
    throw error;
  }
}

function describe({ instancePath, message = "is not as the schema says", params }: ErrorObject): string {
  const path = instancePath.split("/").slice(1);
  const { additionalProperty } = params as { additionalProperty?: unknown };
  return toProblem(path, typeof additionalProperty === "string" ? `${message}: ${additionalProperty}` : message);
}

/** Answers the schema's text. */
function assertBounded(schema: unknown): string {
  if (isNestedTooDeep(schema, LEVELS_MAX)) throw invalid(`it has more than ${LEVELS_MAX} levels`);
  const text = JSON.stringify(schema) ?? "";
  if (text.length > SCHEMA_BYTES_MAX) throw invalid(`it has more than ${SCHEMA_BYTES_MAX} characters`);
  if (typeof schema !== "object" || schema === null || !("type" in schema) || schema.type !== "object") {
    throw invalid('it must be an object with "type": "object"');
  }
  return text;
}

/** Of a schema that is not nested too deep. */
function assertRefersToItself(part: unknown): void {
  if (typeof part !== "object" || part === null) return;
  for (const [key, value] of Object.entries(part)) {
    const isReference = (key === "$ref" || key === "$dynamicRef") && typeof value === "string";
    if (isReference && !value.startsWith("#")) throw invalid(`it refers to another document, ${JSON.stringify(value.slice(0, 100))}`);
    assertRefersToItself(value);
  }
}

function invalid(reason: string, cause?: unknown): BelljarError {
  return new BelljarError("ARGUMENTS_INVALID", `The JSON Schema cannot be used: ${reason}`, { cause });
}
