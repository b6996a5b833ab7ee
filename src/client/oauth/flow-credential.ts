import type { OAuthFlows } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { putBearer } from "../credentials/bearer.js";
import type { Credential } from "../credentials/credential.js";
import type { OAuthOptions } from "./options.js";
import type { TokenKeeper } from "./token-keeper.js";

/** Returns the credential of a flow. Its state is in closures, so that printing it shows no secrets. */
export function flowCredential(
  keeper: TokenKeeper,
  flow: NonNullable<OAuthFlows["flow"]["case"]>,
  { issuer }: Pick<OAuthOptions, "issuer">,
): Credential {
  return {
    fits({ scheme }) {
      if (scheme.case === "openIdConnectSecurityScheme") return true;
      if (scheme.case !== "oauth2SecurityScheme") return false;
      const { flows, oauth2MetadataUrl } = scheme.value;
      // A card may omit the flow if the issuer's metadata are available.
      return flows?.flow.case === undefined
        ? issuer !== undefined || oauth2MetadataUrl !== ""
        : flows.flow.case === flow;
    },
    async apply(target, context) {
      putBearer(target, await keeper.show(context));
    },
    refused: (context) => keeper.refused(context),
    insufficient: (context, scopes) => keeper.insufficient(context, scopes),
  };
}
