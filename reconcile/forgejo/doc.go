// Package forgejo is the kind that keeps a Forgejo or Gitea server as a document says: accounts with their e-mail, state and
// SSH keys, organisations, teams, repositories, collaborators, imports and mirrors. docs/targets/forgejo.md is the page for users.
//
// What holds of every plan:
//
//   - What the document does not mention is not managed. An account that is not in it stays as it is; a list that is not given
//     (ssh_keys, members) is not looked at, and one that is given is whole.
//   - A login is not an identity. An account is the one with the id that the document gives, or without one the one with that
//     login and that e-mail. Where they disagree, what concerns the account waits for a person or is unknown; nobody gets what
//     was meant for another because a name changed hands. Names are compared without regard to case.
//   - Nobody is deleted who was not suspended first, and nobody is suspended because a document does not mention them.
//   - The account whose token is used, the accounts that the settings protect, and the last owner of an organisation are never
//     suspended, deleted or removed from the owners.
//   - A list that could not be read to its end, or in which our own account is missing, is unknown and never empty.
//
// A write is followed by its outcome. Where that is unclear, because the connection was lost, the server is read again before
// the write counts as failed.
package forgejo
