import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  AuthorizationCodeOAuthFlowSchema,
  ClientCredentialsOAuthFlowSchema,
  DeviceCodeOAuthFlowSchema,
  ImplicitOAuthFlowSchema,
  OAuth2SecuritySchemeSchema,
  PasswordOAuthFlowSchema,
  SecuritySchemeSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";

/** Exactly one of the fields. */
type OneOf<T> = {
  [K in keyof T]: { readonly [P in K]: T[P] } & { readonly [P in Exclude<keyof T, K>]?: never };
}[keyof T];

/** None of the fields. */
type NoneOf<T> = { readonly [K in keyof T]?: never };

/**
 * Card form of a security scheme, as the specification's JSON has it, `{ httpAuthSecurityScheme: { scheme: "Bearer" }
 * }`, or as a protobuf object.
 */
export type SecuritySchemeInput =
  | OneOf<SecuritySchemes>
  | (MessageInitShape<typeof SecuritySchemeSchema> & NoneOf<SecuritySchemes>);

/** Kinds of security schemes by their names in the JSON of the specification. Specification 4.5.1. */
export interface SecuritySchemes {
  apiKeySecurityScheme: ApiKeySecurityScheme;
  httpAuthSecurityScheme: HttpAuthSecurityScheme;
  oauth2SecurityScheme: OAuth2SecurityScheme;
  openIdConnectSecurityScheme: OpenIdConnectSecurityScheme;
  mtlsSecurityScheme: MutualTlsSecurityScheme;
}

interface Described {
  /** Description for people. */
  readonly description?: string;
}

/** Card form of a key that the client sends with every request. Specification 4.5.2. */
export interface ApiKeySecurityScheme extends Described {
  /** Location of the key. */
  readonly location: "header" | "query" | "cookie";
  /** Name of that header, query parameter or cookie. */
  readonly name: string;
}

/** HTTP authentication (RFC 9110, section 11). Specification 4.5.3. */
export interface HttpAuthSecurityScheme extends Described {
  /** Name of the scheme as IANA registers it, such as `Bearer`; upper and lower case are the same. */
  readonly scheme: string;
  /** A hint at the form of a bearer token, such as `JWT`. */
  readonly bearerFormat?: string;
}

/** OAuth 2.0 (RFC 6749). Specification 4.5.4. */
export interface OAuth2SecurityScheme extends Described {
  /** The flow by which clients get a token: exactly one. */
  readonly flows: OneOf<OAuthFlows> | (OAuthFlowsMessage & NoneOf<OAuthFlows>);
  /** URL of the authorization server's metadata (RFC 8414), over TLS. */
  readonly oauth2MetadataUrl?: string;
}

type OAuthFlowsMessage = NonNullable<MessageInitShape<typeof OAuth2SecuritySchemeSchema>["flows"]>;

/** OAuth 2.0 flows by their names in the JSON of the specification. Specification 4.5.7. */
export interface OAuthFlows {
  /** A user signs in with a browser. */
  authorizationCode: MessageInitShape<typeof AuthorizationCodeOAuthFlowSchema>;
  /** The client acts for itself. */
  clientCredentials: MessageInitShape<typeof ClientCredentialsOAuthFlowSchema>;
  /** A user signs in on another device. */
  deviceCode: MessageInitShape<typeof DeviceCodeOAuthFlowSchema>;
  /** Deprecated: use `authorizationCode` with PKCE. */
  implicit: MessageInitShape<typeof ImplicitOAuthFlowSchema>;
  /** Deprecated: use `authorizationCode` with PKCE or `deviceCode`. */
  password: MessageInitShape<typeof PasswordOAuthFlowSchema>;
}

/** OpenID Connect. Specification 4.5.5. */
export interface OpenIdConnectSecurityScheme extends Described {
  /** The discovery document of the provider. */
  readonly openIdConnectUrl: string;
}

/** Card form of TLS with a client certificate. Specification 4.5.6. */
export interface MutualTlsSecurityScheme extends Described {}
