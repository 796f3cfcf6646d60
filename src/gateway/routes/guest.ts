import { carry } from "../../network/http/carry.ts";
import { formatSwitch } from "../../network/http/raw-answer.ts";
import { watchClient } from "../../network/ports/watch-client.ts";
import type { Sandboxes } from "../../sandbox/sandbox.ts";
import type { RequestAudit } from "../audit-requests.ts";
import { changes } from "../auth/access.ts";
import { GUEST_PROTOCOL } from "../../remote/guest-upgrade.ts";
import { parseRequest } from "../parse-request.ts";
import { requestIdOf } from "../request-id.ts";
import type { UpgradeRoute } from "../upgrade-route.ts";
import { idParams } from "./sandbox-schemas.ts";

export interface GuestUpgradeOptions {
  readonly sandboxes: Sandboxes;
  readonly audit?: RequestAudit;
}

/**
 * `GET /v1/sandboxes/:id/guest` with `Upgrade: belljar-guest` becomes one raw stream of the guest protocol, with back-pressure
 * both ways. It closes with either side. Such a stream is as good as every tool.
 */
export function guestUpgrade({ sandboxes, audit }: GuestUpgradeOptions): UpgradeRoute {
  const path = "/v1/sandboxes/:id/guest";
  return {
    path,
    protocol: GUEST_PROTOCOL,
    access: changes("toolset:sandbox"),
    async serve({ request, socket, head }, { caller, params }) {
      const { id } = parseRequest(idParams, params);
      const client = watchClient(socket);
      const sandbox = await sandboxes.get(caller, id);
      audit?.assertWritable();
      const guest = await sandbox.connect(client.gone);
      const requestId = requestIdOf(request);
      audit?.recordRequest({ requestId, principal: caller.id, request: `GET ${path}`, outcome: "ok", sandbox: sandbox.id });
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
