package policy

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// validAddress says what is wrong with the address of a database. It shows nothing of it: there may be a password in it.
func validAddress(address string) (wrong []error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return []error{errors.New("query.postgres is no address, such as postgres://user@host/database?passfile=/path")}
	}
	_, has := u.User.Password()
	if has || u.Query().Has("password") || u.Query().Has("sslpassword") {
		wrong = append(wrong, errors.New("query.postgres has a password in it: give passfile=/path"))
	}
	if strings.Trim(u.Path, "/") == "" && !u.Query().Has("dbname") {
		wrong = append(wrong, errors.New("query.postgres names no database"))
	}
	return wrong
}

// texts are the types of columns that may be a document.
var texts = []uint32{pgtype.TextOID, pgtype.VarcharOID, pgtype.BPCharOID, pgtype.NameOID, pgtype.JSONOID, pgtype.JSONBOID, pgtype.UnknownOID}

func (q Query) readPostgres(ctx context.Context) ([]byte, error) {
	config, err := pgx.ParseConfig(q.Postgres)
	if err != nil {
		return nil, errors.New("its address, or what PGPASSFILE and the like say, cannot be read")
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec // nothing of it stays with a pooler
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, because(ctx, oneLine(err))
	}
	defer conn.Close(ctx)
	var document []byte
	err = pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		document, err = q.document(ctx, tx)
		return err
	})
	return document, because(ctx, oneLine(err))
}

// document asks for the shape of the answer and then for the answer: no more than two rows, and no text that is too large,
// ever leave the server.
func (q Query) document(ctx context.Context, tx pgx.Tx) ([]byte, error) {
	sql := "(" + strings.TrimRight(q.SQL, "; \t\r\n") + "\n)"
	shape, err := tx.Query(ctx, "SELECT * FROM "+sql+" AS answer LIMIT 0")
	if err != nil {
		return nil, err
	}
	shape.Close()
	columns := shape.FieldDescriptions()
	switch {
	case shape.Err() != nil:
		return nil, shape.Err()
	case len(columns) != 1:
		return nil, fmt.Errorf("the query answers with %d columns; want one, the document", len(columns))
	case !slices.Contains(texts, columns[0].DataTypeOID):
		return nil, errors.New("the query answers with no text")
	}
	rows, err := tx.Query(ctx, "SELECT CASE WHEN octet_length(text) <= $1 THEN text END, octet_length(text) FROM (SELECT text::text FROM "+sql+" AS answer(text) LIMIT 2) AS answer", Largest)
	if err != nil {
		return nil, err
	}
	type answer struct {
		Text *string
		Size *int64
	}
	answers, err := pgx.CollectRows(rows, pgx.RowToStructByPos[answer])
	switch {
	case err != nil:
		return nil, err
	case len(answers) == 0:
		return nil, errors.New("the query answers with no row; want one, the document")
	case len(answers) > 1:
		return nil, errors.New("the query answers with more than one row; want one, the document")
	case answers[0].Size == nil:
		return nil, errors.New("the query answers with no text")
	case answers[0].Text == nil:
		return nil, errTooLarge
	}
	return []byte(*answers[0].Text), nil
}

// oneLine is an error as one line, which several addresses of a host may make many.
func oneLine(err error) error {
	if err == nil || !strings.Contains(err.Error(), "\n") {
		return err
	}
	return errors.New(strings.Join(strings.Fields(err.Error()), " "))
}
