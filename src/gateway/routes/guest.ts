import { carry } from "../../network/http/carry.ts";
import { formatSwitch } from "../../network/http/raw-answer.ts";
import { watchClient } from "../../network/ports/watch-client.ts";
import type { Sandboxes } from "../../sandbox/sandbox.ts";
import { changes } from "../auth/access.ts";
import { GUEST_PROTOCOL } from "../../remote/guest-upgrade.ts";
import { parseRequest } from "../parse-request.ts";
import { idParams } from "./sandbox-schemas.ts";
import type { UpgradeRoute } from "./upgrade-route.ts";

export interface GuestUpgradeOptions {
  readonly sandboxes: Sandboxes;
}

/**
 * `GET /v1/sandboxes/:id/guest` with `Upgrade: belljar-guest` becomes one raw stream of the guest protocol, with back-pressure
 * both ways. It closes with either side. Such a stream is as good as every tool.
 */
export function guestUpgrade({ sandboxes }: GuestUpgradeOptions): UpgradeRoute {
  return {
    path: "/v1/sandboxes/:id/guest",
    protocol: GUEST_PROTOCOL,
    access: changes("toolset:sandbox"),
    summary: "One raw stream of the [guest protocol](../guest-protocol.md), with `Upgrade: belljar-guest`",
    async serve({ socket, head }, { caller, params, reached }) {
      const { id } = parseRequest(idParams, params);
      const client = watchClient(socket);
      const sandbox = await sandboxes.get(caller, id);
      reached(sandbox.id);
      const guest = await sandbox.connect(client.gone);
      client.stop();
      if (client.gone.aborted) return void guest.destroy();
      socket.write(formatSwitch(GUEST_PROTOCOL));
      if (head.length > 0) socket.unshift(head);
      void carry(socket, guest);
      // What is under way arrives first.
      void carry(guest, socket).then(() => guest.destroy());
    },
  };
}
