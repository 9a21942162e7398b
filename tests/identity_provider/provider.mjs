// An identity provider for the end-to-end tests: panva's oidc-provider, with its own pages. Any name signs in, with any
// password; the service asks for nothing that its user would have to grant.
//
// PORT, CLIENT_SECRET: as the harness gives them.

import Provider from "oidc-provider";

const { PORT, CLIENT_SECRET } = process.env;

const provider = new Provider(`http://127.0.0.1:${PORT}`, {
  clients: [
    {
      client_id: "espalier",
      client_secret: CLIENT_SECRET,
      redirect_uris: ["http://127.0.0.1/api/oidc/real/callback"],
      grant_types: ["authorization_code"],
      response_types: ["code"],
    },
  ],
  cookies: { keys: ["a key of this test alone"] },
  pkce: { required: () => true },
  async loadExistingGrant({ oidc }) {
    const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
    grant.addOIDCScope("openid");
    await grant.save();
    return grant;
  },
});

// The service gets another port in each run.
provider.Client.prototype.redirectUriAllowed = (uri) => /^http:\/\/127\.0\.0\.1:\d+\/api\/oidc\/real\/callback$/.test(uri);
provider.on("server_error", (_, error) => console.error(error));
provider.listen(Number(PORT), "127.0.0.1");
