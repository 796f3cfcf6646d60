import type { Tool } from "../../catalog/tool.ts";
import { BelljarError } from "../../errors.ts";
import { createListPorts } from "./list-ports.ts";
import type { PortUrls } from "./port-urls.ts";
import { portsTool } from "./ports.ts";
import { createRegisterPort } from "./register-port.ts";

export function portTools(urls: PortUrls = notServed): readonly Tool[] {
  return [portsTool, createRegisterPort(urls), createListPorts(urls)];
}

function notServed(): Promise<never> {
  return Promise.reject(new BelljarError("NOT_SUPPORTED", "This process serves no ports: use `belljar serve` or `belljar mcp`"));
}
