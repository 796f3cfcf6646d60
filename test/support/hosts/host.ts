import type { Face } from "./scripted-model.ts";

/** The command with which a host starts Belljar. */
export interface StdioServer {
  readonly command: string;
  readonly args: readonly string[];
}

/** Where a host runs. */
export interface HostPlace {
  /** Its home: an empty folder of the test's. */
  readonly home: string;
  /** The folder in which the person starts it. */
  readonly project: string;
  readonly modelUrl: string;
  readonly server: StdioServer;
}

export interface Launch {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Its settings: paths below the home, and their texts. */
  readonly settings: Readonly<Record<string, string>>;
}

/** A program that gives a model tools, and works without a person. */
export interface Host {
  readonly title: string;
  readonly face: Face;
  /** Its program, below the `node_modules` of the hosts' package. One in JavaScript is run by Node. */
  readonly program: string;
  launch(place: HostPlace): Launch;
  /** It shows servers' tools to a model that searches for them. Absent: with every request. */
  readonly keepsBack?: true;
  /** An argument that the host adds to every tool. */
  readonly adds?: string;
  /** A text of a tool without what the host puts around it. Absent: nothing. */
  readonly unwrap?: (text: string) => string;
}

export const TASK = "Do the small job.";
export const CPU = process.arch === "arm64" ? "arm64" : "x64";
