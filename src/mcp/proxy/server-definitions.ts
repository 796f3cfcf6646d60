import { Slices } from "../../async/slices.ts";
import type { JsonSchemas } from "../../catalog/json-schemas.ts";
import type { Tool } from "../../catalog/tool.ts";
import { BelljarError } from "../../errors.ts";
import { isRecord } from "../client/config/is-record.ts";
import type { JsonObject } from "../client/json-object.ts";
import { type ParamHeader, readParamHeaders } from "../client/param-headers.ts";
import { hubNames } from "./hub-names.ts";
import type { HubServer } from "./hub-server.ts";
import { besideOf, type Definition, definitionSchema, proxiedTool, type ProxiedToolOptions } from "./proxied-tool.ts";
import type { HubLinks } from "./relay/hub-links.ts";
import type { RelayContext } from "./relay/relay-context.ts";
import type { Asked } from "./relay/server-calls.ts";

/** So many problems of a server's tools are told of one by one. */
const TOLD_MAX = 10;

/** A prompt of a server, under the name that callers see. */
export interface NamedPrompt {
  readonly name: string;
  readonly definition: JsonObject;
}

export interface ServerDefinitionsOptions {
  readonly server: HubServer;
  /** The id of whoever owns it. */
  readonly owner: string;
  /** Of the names that callers see. */
  readonly prefix: string;
  readonly schemas: () => Promise<JsonSchemas>;
  /** How callers write the URIs of a server. */
  readonly links: HubLinks;
  readonly report: (problem: string) => void;
  /** Asks the server. */
  readonly call: (context: RelayContext, asked: Asked) => Promise<JsonObject>;
}

/** A tool as its server defines it, with what the definition has beside. */
type Defined = Definition & { readonly beside: JsonObject | undefined };

/** Makes of what a server lists what callers see. */
export class ServerDefinitions {
  readonly #options: ServerDefinitionsOptions;
  /** Problems of its tools that were told. */
  readonly #told = new Set<string>();

  constructor(options: ServerDefinitionsOptions) {
    this.#options = options;
  }

  /** Those that its entry selects, in their order. What is wrong with one is told, and leaves it out. */
  async tools(items: readonly JsonObject[], label: string): Promise<readonly Tool[]> {
    const { select, rename } = this.#options.server.settings;
    // A server may have very many.
    const slices = new Slices();
    const listed: Defined[] = [];
    for (const item of items) {
      listed.push(...this.#define(item));
      await slices.next();
    }
    const known = new Set(listed.map(({ name }) => name));
    const absent = [...(select ?? []), ...Object.keys(rename)].filter((name) => !known.has(name));
    for (const name of absent) this.#tell(name, `has no tool ${JSON.stringify(name)}, which its entry names`);
    const found = select ? listed.filter(({ name }) => select.has(name)) : listed;
    const shown = found.map(({ name }) => (Object.hasOwn(rename, name) ? (rename[name] ?? name) : name));
    const names = hubNames(this.#options.prefix, label, shown);
    const schemas = await this.#options.schemas();
    const tools: Tool[] = [];
    for (const [index, definition] of found.entries()) {
      const as = { name: names[index] ?? definition.name, shown: shown[index] ?? definition.name, schemas };
      tools.push(...this.#toTools(definition, as, label));
      await slices.next();
    }
    return tools;
  }

  /** None for one that cannot be used, which is told. */
  #toTools(definition: Defined, as: Pick<ProxiedToolOptions, "name" | "shown" | "schemas">, label: string): readonly Tool[] {
    try {
      return [this.#toTool(definition, as, label)];
    } catch (cause) {
      if (!(cause instanceof BelljarError)) throw cause;
      this.#leaveOut(definition.name, cause.message);
      return [];
    }
  }

  /** Tasks are not relayed: a tool that cannot be called without one is left out. */
  #define(item: JsonObject): readonly Defined[] {
    const { data } = definitionSchema.safeParse(item);
    if (!data) return [];
    const { execution } = item;
    const needsTask = isRecord(execution) && execution["taskSupport"] === "required";
    if (needsTask) this.#leaveOut(data.name, "it can be called as a task alone, which the hub does not relay");
    return needsTask ? [] : [{ ...data, beside: besideOf(item) }];
  }

  #toTool({ beside, ...definition }: Defined, as: Pick<ProxiedToolOptions, "name" | "shown" | "schemas">, label: string): Tool {
    const { server, owner, links, call } = this.#options;
    const { name: tool } = definition;
    const declared = this.#headersOf(definition);
    return proxiedTool({
      ...as,
      server: server.name,
      owner,
      approve: server.settings.approve,
      definition,
      beside,
      relink: ({ principal } = { principal: { id: owner, name: owner } }) => links.relink(principal, label),
      call: (context, args) => call(context, { method: "tools/call", params: { name: tool, arguments: args }, declared }),
    });
  }

  /** Throws `SERVER_INCOMPATIBLE`. Nobody but a server over HTTP gets any, so that they spoil no tool of a program. */
  #headersOf({ inputSchema }: Definition): readonly ParamHeader[] {
    if (this.#options.server.target.kind === "stdio") return [];
    const read = readParamHeaders(inputSchema);
    if ("headers" in read) return read.headers;
    throw new BelljarError("SERVER_INCOMPATIBLE", read.problem);
  }

  prompts(listed: readonly JsonObject[], label: string): readonly NamedPrompt[] {
    const names = hubNames(
      this.#options.prefix,
      label,
      listed.map(({ name }) => String(name)),
    );
    return listed.map((definition, index) => ({ name: names[index] ?? String(definition["name"]), definition }));
  }

  #leaveOut(tool: string, why: string): void {
    this.#tell(tool, `has a tool ${JSON.stringify(tool.slice(0, 100))} that is left out: ${why}`);
  }

  /** Once for each tool, and of the first ones alone: a server may have any number, and list them again and again. */
  #tell(tool: string, problem: string): void {
    if (this.#told.has(tool) || this.#told.size > TOLD_MAX) return;
    this.#told.add(tool);
    this.#options.report(`The server "${this.#options.server.name}" ${this.#told.size > TOLD_MAX ? "has more such tools" : problem}`);
  }

  /** Problems that were told are told once more. */
  tellAgain(): void {
    this.#told.clear();
  }
}
