import type { Tool } from "../../catalog/tool.ts";
import { BelljarError } from "../../errors.ts";
import type { PortLink } from "../../sandbox/sandbox.ts";
import { createListPorts } from "./list-ports.ts";
import { createRegisterPort } from "./register-port.ts";

/** Where a link leads on the server of this process, in both styles. */
export type PortUrls = (link: PortLink) => Promise<{ readonly url: string; readonly pathUrl: string }>;

export function portTools(urls: PortUrls = notServed): readonly Tool[] {
  return [createRegisterPort(urls), createListPorts(urls)];
}

function notServed(): Promise<never> {
  return Promise.reject(new BelljarError("NOT_SUPPORTED", "This process serves no ports: use `belljar serve` or `belljar mcp`"));
}
