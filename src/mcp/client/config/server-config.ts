import type { OAuthSettings } from "../oauth/auth-settings.ts";
import type { BelljarError } from "../../../errors.ts";

/** A server as its file describes it. No variable is expanded. */
export type ServerConfig = StdioConfig | HttpConfig;

interface SharedConfig {
  readonly name: string;
  readonly isDisabled: boolean;
  /** False for a file whose host takes `${X}` literally. */
  readonly expands: boolean;
  /** Longest time from the start to the first answer. */
  readonly startTimeoutMs?: number | undefined;
  /** Longest time of one request. */
  readonly callTimeoutMs?: number | undefined;
}

/** A program that speaks MCP on its standard streams. */
export interface StdioConfig extends SharedConfig {
  readonly kind: "stdio";
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly envFile?: string | undefined;
  readonly cwd?: string | undefined;
  /** Variables that it gets from the client's environment, beside those that every server gets. */
  readonly inherits: readonly string[];
}

/** `any` tries Streamable HTTP first, and then HTTP with SSE of 2024-11-05. */
export type HttpKind = "http" | "sse" | "any";

export interface HttpConfig extends SharedConfig {
  readonly kind: HttpKind;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Headers whose value is that of a variable, behind a prefix. */
  readonly headersFrom: Readonly<Record<string, HeaderSource>>;
  /** Undefined for an entry that wants no OAuth. */
  readonly oauth?: OAuthSettings | undefined;
}

export interface HeaderSource {
  readonly variable: string;
  readonly prefix: string;
}

/** An entry that cannot be used does not spoil the others of its file. */
export type ConfiguredServer =
  | { readonly name: string; readonly config: ServerConfig; readonly problem?: undefined }
  | { readonly name: string; readonly config?: undefined; readonly problem: BelljarError };

/** A value that a person is asked for, as VS Code describes it. */
export interface ConfigInput {
  readonly id: string;
  readonly description: string;
  readonly isSecret: boolean;
  readonly options?: readonly string[] | undefined;
  readonly fallback?: string | undefined;
}

export interface ConfigFile {
  readonly servers: readonly ConfiguredServer[];
  readonly inputs: readonly ConfigInput[];
}
