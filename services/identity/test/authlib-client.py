"""Signs a user in with Authlib, as an application in Python does.

Reads its settings as a line of JSON, prints the address that the browser must open, reads the address that the
browser was sent back to, and prints what it got as a line of JSON.
"""
import json
import sys

import requests
from authlib.common.security import generate_token
from authlib.integrations.base_client.errors import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.jose import JsonWebKey, jwt
from authlib.oauth2.rfc7523 import PrivateKeyJWT, private_key_jwt_sign
from authlib.oidc.core import CodeIDToken
from authlib.oidc.discovery import OpenIDProviderMetadata, get_well_known_url


def say(value):
    print(value, flush=True)


def error_of(work):
    """The error and its description, or None if the call succeeds."""
    try:
        work()
    except OAuthError as error:
        return [error.error, error.description]
    return None


class ForTheIssuer(PrivateKeyJWT):
    """Signs for the issuer, and for a minute."""

    def sign(self, auth, token_endpoint):
        return private_key_jwt_sign(
            auth.client_secret, client_id=auth.client_id, token_endpoint=issuer, expires_in=60
        )


settings = json.loads(sys.stdin.readline())
issuer, client_id = settings["issuer"], settings["clientId"]
metadata = requests.get(get_well_known_url(issuer, external=True)).json()
OpenIDProviderMetadata(metadata).validate()
token_endpoint = metadata["token_endpoint"]

by_key = "privateKey" in settings
session = OAuth2Session(
    client_id,
    settings["privateKey"] if by_key else settings["clientSecret"],
    scope="openid profile email offline_access",
    redirect_uri=settings["redirectUri"],
    code_challenge_method="S256",
    token_endpoint_auth_method="private_key_jwt" if by_key else "client_secret_basic",
)
verifier, nonce = generate_token(64), generate_token(20)
url, state = session.create_authorization_url(
    metadata["authorization_endpoint"], nonce=nonce, code_verifier=verifier
)
say(url)
answer = sys.stdin.readline().strip()


def exchange():
    return session.fetch_token(
        token_endpoint, authorization_response=answer, state=state, code_verifier=verifier
    )


result = {}
if by_key:
    # What Authlib does unless it is told otherwise.
    session.register_client_auth_method(PrivateKeyJWT(token_endpoint))
    result["forTokenEndpoint"] = error_of(exchange)
    session.register_client_auth_method(PrivateKeyJWT(issuer))
    result["forAnHour"] = error_of(exchange)
    session.register_client_auth_method(ForTheIssuer())

token = exchange()
keys = JsonWebKey.import_key_set(requests.get(metadata["jwks_uri"]).json())
claims = jwt.decode(
    token["id_token"],
    keys,
    claims_cls=CodeIDToken,
    claims_options={"iss": {"values": [issuer]}, "aud": {"values": [client_id]}},
    claims_params={"nonce": nonce, "client_id": client_id, "access_token": token["access_token"]},
)
claims.validate()
info = session.get(metadata["userinfo_endpoint"]).json()
first = token["refresh_token"]
second = session.refresh_token(token_endpoint, refresh_token=first)["refresh_token"]
session.revoke_token(metadata["revocation_endpoint"], token=second, token_type_hint="refresh_token")
result["claims"] = {name: claims[name] for name in ("sub", "preferred_username", "email")}
result["info"] = info
result["rotated"] = first != second
result["afterRevocation"] = error_of(
    lambda: session.refresh_token(token_endpoint, refresh_token=second)
)
say(json.dumps(result))
