import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { ReadBuffer } from "@modelcontextprotocol/client";
import { BelljarError } from "../../../errors.ts";

/** Cuts what a program says on stdout into messages, and gives them to a transport. */
export class MessageReader {
  readonly #name: string;
  readonly #to: Pick<Transport, "onmessage" | "onerror">;
  readonly #input = new ReadBuffer();
  #isGiving = false;

  constructor(name: string, to: Pick<Transport, "onmessage" | "onerror">) {
    this.#name = name;
    this.#to = to;
  }

  /** False after a message above the SDK's bound: what follows could not be told from its rest. */
  read(chunk: Buffer): boolean {
    try {
      this.#input.append(chunk);
    } catch (cause) {
      this.#to.onerror?.(new BelljarError("RESULT_TOO_LARGE", `The server "${this.#name}" sent a message that is too large`, { cause }));
      return false;
    }
    if (!this.#isGiving) void this.#giveAll();
    return true;
  }

  clear(): void {
    this.#input.clear();
  }

  /** The SDK hears a notification a turn later than an answer, and drops the progress of what is answered. */
  async #giveAll(): Promise<void> {
    this.#isGiving = true;
    for (let kind = this.#giveNext(); kind !== "none"; kind = this.#giveNext()) if (kind === "notification") await Promise.resolve();
    this.#isGiving = false;
  }

  /** `none` once there is no whole message left. A line of JSON that is no MCP is passed over, as lines of a log are. */
  #giveNext(): "none" | "notification" | "other" {
    try {
      const message: JSONRPCMessage | null = this.#input.readMessage();
      if (message === null) return "none";
      this.#to.onmessage?.(message);
      return "method" in message && !("id" in message) ? "notification" : "other";
    } catch (cause) {
      this.#to.onerror?.(cause instanceof Error ? cause : new Error(String(cause)));
      return "other";
    }
  }
}
