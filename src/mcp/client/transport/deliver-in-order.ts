import type { Transport } from "@modelcontextprotocol/client";
import type { ServerHandlers } from "../server-handlers.ts";

type Receiver = NonNullable<Transport["onmessage"]>;
type Message = Parameters<Receiver>[0];

/**
 * Gives the SDK an answer, and the end of the connection, after the notifications that came before it. The SDK works on notifications
 * after it has returned and on answers at once, so an answer right behind the progress of its call would make it forget whose progress
 * that was. `tap` sees each message, those of the negotiation too.
 */
export function deliverInOrder(transport: Transport, tap: ServerHandlers["message"]): void {
  let isNotified = false;
  const later = (work: () => void): void => {
    if (isNotified) setImmediate(() => guarded(transport, work));
    else work();
  };
  const send = transport.send.bind(transport);
  transport.send = async (message, options) => {
    tap?.("sent", message);
    return send(message, options);
  };
  intercept(transport, "onmessage", (receiver) => (message, extra) => {
    tap?.("received", message);
    if (!("method" in message)) return later(() => receiver(message, extra));
    if (isNotification(message) && !isNotified) {
      isNotified = true;
      setImmediate(() => (isNotified = false));
    }
    receiver(message, extra);
  });
  intercept(transport, "onclose", (closer) => () => later(closer));
}

function isNotification(message: Message): boolean {
  return "method" in message && !("id" in message);
}

function guarded(transport: Transport, work: () => void): void {
  try {
    work();
  } catch (cause) {
    transport.onerror?.(cause instanceof Error ? cause : new Error(String(cause)));
  }
}

/** Whatever is set as the handler is called through `wrap`. The SDK also sets what it has read. */
function intercept<Name extends "onmessage" | "onclose">(
  transport: Transport,
  name: Name,
  wrap: (handler: NonNullable<Transport[Name]>) => NonNullable<Transport[Name]>,
): void {
  let inner = transport[name];
  let outer = inner && wrap(inner);
  Object.defineProperty(transport, name, {
    get: () => outer,
    set: (next: Transport[Name]) => {
      inner = next === outer ? inner : next;
      outer = inner && wrap(inner);
    },
  });
}
