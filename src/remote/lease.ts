import type { IncomingMessage } from "node:http";
import { BelljarError } from "../errors.ts";
import { exchange } from "./server-connection.ts";
import type { ServerAddress, ServerRequest } from "./server-connection.ts";

export interface Lease {
  /** The first line of the answer. */
  readonly answer: string;
  close(): void;
}

const LINE_MAX_CHARACTERS = 1024 * 1024;

/** Asks for something that the server keeps for as long as this process holds the answer open. It does not hold the process. */
export function openLease(address: ServerAddress, request: ServerRequest): Promise<Lease> {
  return exchange(address, request, async (response) => {
    const answer = await readLine(response);
    response.socket.unref();
    return { answer, close: () => void response.destroy() };
  });
}

/** The rest of the answer is read and dropped. */
function readLine(response: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    response.setEncoding("utf8");
    response.on("data", (chunk: string) => {
      if (text.includes("\n")) return;
      text += chunk;
      if (text.includes("\n")) resolve(text.slice(0, text.indexOf("\n")));
      else if (text.length > LINE_MAX_CHARACTERS) reject(new BelljarError("SERVER_INCOMPATIBLE", "The server's answer has no end"));
    });
    // Also for the whole life of the lease: a connection that breaks later is no failure of this process.
    response.on("error", reject);
    response.once("close", () => reject(new Error("The connection was closed")));
  });
}
