import { type Client, createClient } from "@connectrpc/connect";
import { AdminService } from "../../../gen/parley/admin/v1/admin_pb.js";
import { createTransport } from "../../../src/client/web.js";
import { apiUrl } from "./base.js";
import { ownFetch } from "./own-fetch.js";

/** The operator's service, called as the operator of the session. */
export const admin: Client<typeof AdminService> = createClient(
  AdminService,
  createTransport("CONNECT", apiUrl("admin"), { fetch: ownFetch }),
);
