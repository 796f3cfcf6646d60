import type { Sandbox as CodeSandbox } from "@e2b/code-interpreter";

/** What a trial of a method has. */
export interface Trial {
  /** One that lives through all trials. */
  readonly sandbox: CodeSandbox;
  readonly options: { readonly apiKey: string; readonly apiUrl?: string; readonly sandboxUrl?: string; readonly domain?: string };
  /** What the names of ports end with. */
  readonly domain: string;
  /** Whether the server may freeze sandboxes. */
  readonly canFreeze: boolean;
  /** One of its own. */
  readonly make: (options?: Readonly<Record<string, unknown>>) => Promise<CodeSandbox>;
}

/** What a method does here: a trial that must succeed, or the reason for which it is refused with the trial that shows the refusal. */
export type Method =
  | ((trial: Trial) => Promise<unknown>)
  | { readonly refused: string; readonly trial: (trial: Trial) => Promise<unknown> };
