import type { BelljarError } from "../../errors.ts";
import type { ConfigInput } from "./config/server-config.ts";
import type { JsonObject } from "./json-object.ts";
import type { OpenLoginDoor } from "./oauth/login-door.ts";
import type { LoginOptions } from "./oauth/server-login.ts";
import type { ListName, WireDirection } from "./server-handlers.ts";
import type { RequestOptions } from "./server-session.ts";

export interface McpClientOptions {
  /** The path of a host's configuration, or its content. */
  readonly config: string | JsonObject;
  /** Where `${X}` and the listed variables of a program come from. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly workspaceFolder: string;
  readonly userHome: string;
  /** Only these servers are started. */
  readonly only?: readonly string[];
  /** Asks a person. Without it, a server that needs an input fails. */
  readonly ask?: (input: ConfigInput) => Promise<string>;
  /**
   * Answers `elicitation/create` of a server with its result. The question has a form, or, with the mode `url`, an address that a person opens.
   * Without it, servers are told that they cannot ask.
   */
  readonly onElicit?: (question: McpQuestion) => Promise<JsonObject>;
  /** Answers `sampling/createMessage` of a server with its result. Without it, servers are told that they have no model. */
  readonly onSample?: (question: McpQuestion) => Promise<JsonObject>;
  /** Is told that a list of a server has changed. */
  readonly onListChanged?: (change: { readonly server: string; readonly list: ListName }) => void;
  /** Is given each message of the protocol, before it is sent and as it comes. Messages may hold secrets of the servers' tools. */
  readonly onMessage?: (record: WireRecord) => void;
  /** Where the logins at servers are kept. Without it a server that wants one is refused. */
  readonly logins?: LoginOptions;
  /** Takes a person to an authorization server, and back. Without it nobody is asked, and logins that are kept are used. */
  readonly openLoginDoor?: OpenLoginDoor;
  readonly version?: string;
  readonly startTimeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** What a server asks in a call. */
export interface McpQuestion {
  readonly server: string;
  /** The parameters of the request, as the server sent them. */
  readonly params: JsonObject;
  /** Aborts when the server takes the question back, or is gone. */
  readonly signal?: AbortSignal;
}

/** A message of the protocol between the client and one server. */
export interface WireRecord {
  readonly server: string;
  readonly direction: WireDirection;
  readonly message: unknown;
}

/** A server of the configuration. One that failed has its error, and spoils no other. */
export interface McpServer {
  readonly name: string;
  readonly state: "ready" | "failed" | "disabled";
  readonly error?: BelljarError;
  readonly era?: "legacy" | "modern";
  readonly instructions?: string | undefined;
  /** As the server sent them. */
  readonly capabilities?: JsonObject;
}

export interface McpTool {
  readonly server: string;
  /** The name that the server calls it by. */
  readonly tool: string;
  /** A name that no other tool of the client has. */
  readonly name: string;
  /** As the server sent it. */
  readonly definition: JsonObject;
}

export interface ListToolsOptions extends RequestOptions {
  readonly server?: string | undefined;
}

export interface ToolList {
  readonly tools: readonly McpTool[];
  /** Servers that could not list theirs, and tools that cannot be called. */
  readonly problems: readonly BelljarError[];
}

/** An argument of a prompt or of a resource template whose values a server may suggest. */
export interface CompletionWish {
  readonly server: string;
  readonly ref: { readonly type: "ref/prompt"; readonly name: string } | { readonly type: "ref/resource"; readonly uri: string };
  readonly argument: { readonly name: string; readonly value: string };
  /** Arguments that have their values already. */
  readonly context?: { readonly arguments: Readonly<Record<string, string>> };
}

/**
 * Several servers. Disposing it ends them all. Answers are given as the servers sent them. A program that has ended is started again by the
 * next request; the request during which it ended is not repeated.
 */
export interface McpClient extends AsyncDisposable {
  /** As they were after the start. */
  readonly servers: readonly McpServer[];
  /** Of all servers, or of one: then no other is asked, and names are told apart among its tools alone. */
  listTools(options?: ListToolsOptions): Promise<ToolList>;
  callTool(call: { server: string; tool: string; arguments?: JsonObject }, options?: RequestOptions): Promise<JsonObject>;
  listResources(server: string, options?: RequestOptions): Promise<readonly JsonObject[]>;
  listResourceTemplates(server: string, options?: RequestOptions): Promise<readonly JsonObject[]>;
  readResource(server: string, uri: string, options?: RequestOptions): Promise<JsonObject>;
  listPrompts(server: string, options?: RequestOptions): Promise<readonly JsonObject[]>;
  getPrompt(
    prompt: { server: string; name: string; arguments?: Readonly<Record<string, string>> },
    options?: RequestOptions,
  ): Promise<JsonObject>;
  complete(wish: CompletionWish, options?: RequestOptions): Promise<JsonObject>;
}
