import { IncomingMessage } from "node:http";
import { Socket } from "node:net";

/** A message as Node's parser gives it: each header by its written name, and in lower case. */
export function incomingMessage(
  headers: readonly (readonly [name: string, value: string])[],
  { method = "GET" }: { readonly method?: string } = {},
): IncomingMessage {
  const message = new IncomingMessage(new Socket());
  message.method = method;
  for (const [name, value] of headers) {
    message.rawHeaders.push(name, value);
    const key = name.toLowerCase();
    (message.headersDistinct[key] ??= []).push(value);
    const before = message.headers[key];
    if (key === "set-cookie") message.headers[key] = [...(message.headers[key] ?? []), value];
    else message.headers[key] = typeof before === "string" ? `${before}${key === "cookie" ? "; " : ", "}${value}` : value;
  }
  return message;
}
