import { expect, it } from "vitest";
import { formatAnswer, formatHead, formatSwitch } from "./raw-answer.ts";

it("writes a whole answer whose length is that of its bytes", () => {
  const text = formatAnswer({ status: 404, headers: ["Content-Type", "text/plain"] }, "é\n");
  expect(text).toBe("HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 3\r\nContent-Type: text/plain\r\n\r\né\n");
});

it("writes the given phrase, else the standard phrase, else a substitute", () => {
  expect(formatHead({ status: 403, phrase: "Forbidden (why)", headers: [] })).toBe("HTTP/1.1 403 Forbidden (why)\r\n\r\n");
  expect(formatHead({ status: 799, headers: ["A", "1", "B"] })).toBe("HTTP/1.1 799 Unknown\r\nA: 1\r\n\r\n");
});

it("switches protocols", () => {
  const head = "HTTP/1.1 101 Switching Protocols\r\nX-A: 1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
  expect(formatSwitch("websocket", ["X-A", "1"])).toBe(head);
});
